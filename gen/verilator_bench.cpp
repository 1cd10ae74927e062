// The bulk verbs of the testbench on a Verilated engine_system, called through ctypes by gen/verilator.py.
//
// Ports are driven and sampled at the falling clock edge; a cycle ends there. PORT_LIST, generated, names every port.
// A verb that returns int returns 0, or -1 after a fault that bench_fault describes.

#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "Vsystem.h"
#include "ports.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

// Verilator's own would end the process, which is Python.
void vl_fatal(const char*, int, const char*, const char* message) { throw std::runtime_error(message); }

namespace {

#if VM_TRACE
// Writes as Verilator's own file does, but remembers a failure (a full disk) instead of ending the process.
class TraceFile final : public VerilatedVcdFile {
public:
    int error = 0;
    bool open(const std::string& name) override {
        fd = ::open(name.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0) error = errno;
        return fd >= 0;
    }
    void close() override {
        if (fd >= 0 && ::close(fd) && !error) error = errno;
        fd = -1;
    }
    ssize_t write(const char* data, ssize_t length) override {
        if (error) return length;
        const ssize_t written = ::write(fd, data, length);
        if (written >= 0 || errno == EINTR || errno == EAGAIN) return written;
        error = errno;
        return length;
    }

private:
    int fd = -1;
};
#endif

struct Port {
    const char* name;
    void* value;
    uint32_t bytes;
};

struct Row {
    int64_t maximum, total;
};

struct Bench {
    VerilatedContext context;
    Vsystem* model = nullptr;
    std::vector<Port> ports;
    std::vector<Row> rows;
    std::string fault;
    uint64_t cycles = 0;
    uint32_t stall_reads = 0, stall_writes = 0;  // of 256 cycles
    std::minstd_rand random;
#if VM_TRACE
    TraceFile file;
    VerilatedVcdC* trace = nullptr;
#endif

    explicit Bench(int seed) {
        // Registers and memories start with random values: nothing may depend on them. Ports start with 0, as in MyHDL.
        context.randReset(2);
        context.randSeed(seed);
        context.traceEverOn(VM_TRACE);
        model = new Vsystem{&context};
#define PORT(name) ports.push_back({#name, &model->name, sizeof(model->name)});
        PORT_LIST
#undef PORT
        for (const Port& port : ports) std::memset(port.value, 0, port.bytes);
    }

    ~Bench() {
#if VM_TRACE
        delete trace;
#endif
        delete model;
    }

    void dump(uint64_t time) {
#if VM_TRACE
        if (trace) trace->dump(time);
#else
        (void)time;
#endif
    }

    void cycle() {
        if (stall_reads || stall_writes) {
            const uint32_t draw = random();
            model->stall = ((draw >> 4 & 255) < stall_reads) | ((draw >> 16 & 255) < stall_writes) << 1;
        }
#if VM_TRACE
        if (trace) {  // what the ports were set to at the falling edge
            model->eval();
            dump(10 * cycles);
        }
#endif
        model->clk = 1;
        model->eval();
        dump(10 * cycles + 5);
        model->clk = 0;
        model->eval();
        ++cycles;
        if (model->debug_valid) {
            rows.push_back({static_cast<int64_t>(model->debug_maximum), static_cast<int64_t>(model->debug_total)});
        }
    }
};

template <typename Verb>
int guarded(Bench* bench, Verb verb) {
    try {
        verb();
        return 0;
    } catch (const std::exception& error) {
        bench->fault = error.what();
        return -1;
    }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Bench* bench_open(int seed) { return new Bench{seed}; }

EXPORT const char* bench_fault(Bench* bench) { return bench->fault.c_str(); }

// Start a waveform; errno of a file that cannot be opened, 0 if all is well, -1 in a library built without.
EXPORT int bench_trace(Bench* bench, const char* path) {
#if VM_TRACE
    bench->trace = new VerilatedVcdC{&bench->file};
    bench->trace->set_time_unit("1ns");
    bench->trace->set_time_resolution("1ns");
    bench->model->trace(bench->trace, 99);
    bench->trace->open(path);
    return bench->file.error;
#else
    (void)bench, (void)path;
    return -1;
#endif
}

// Free everything; errno of the waveform's first failed write, or 0.
EXPORT int bench_close(Bench* bench) {
    int error = 0;
#if VM_TRACE
    if (bench->trace) {
        bench->dump(10 * bench->cycles);
        bench->trace->close();
        error = bench->file.error;
    }
#endif
    delete bench;
    return error;
}

// Index of a port, or -1; its width in bytes goes to *bytes.
EXPORT int bench_port(Bench* bench, const char* name, uint32_t* bytes) {
    for (size_t index = 0; index < bench->ports.size(); ++index) {
        if (!std::strcmp(bench->ports[index].name, name)) {
            *bytes = bench->ports[index].bytes;
            return static_cast<int>(index);
        }
    }
    return -1;
}

// Values are little-endian, in as many bytes as bench_port says.
EXPORT void bench_set(Bench* bench, int port, const void* value) {
    std::memcpy(bench->ports[port].value, value, bench->ports[port].bytes);
}

EXPORT void bench_get(Bench* bench, int port, void* value) {
    std::memcpy(value, bench->ports[port].value, bench->ports[port].bytes);
}

// Hold back memory reads and writes in so many of 256 cycles, at random.
EXPORT void bench_stall(Bench* bench, uint32_t reads, uint32_t writes, uint64_t seed) {
    bench->stall_reads = reads;
    bench->stall_writes = writes;
    bench->random.seed(seed);
    bench->model->stall = 0;
}

EXPORT int bench_step(Bench* bench, uint64_t cycles) {
    return guarded(bench, [=] {
        for (uint64_t count = 0; count < cycles; ++count) bench->cycle();
    });
}

// Write `count` words of `word_bytes` bytes from an address on, one a cycle.
EXPORT int bench_load(Bench* bench, uint32_t address, const char* words, uint32_t word_bytes, uint64_t count) {
    return guarded(bench, [=] {
        bench->model->host_write = 1;
        for (uint64_t offset = 0; offset < count; ++offset) {
            bench->model->host_address = address + offset;
            std::memcpy(&bench->model->host_data, words + offset * word_bytes, word_bytes);
            bench->cycle();
        }
        bench->model->host_write = 0;
    });
}

// Read `count` words of `word_bytes` bytes from an address on, one a cycle.
EXPORT int bench_read(Bench* bench, uint32_t address, char* words, uint32_t word_bytes, uint64_t count) {
    return guarded(bench, [=] {
        for (uint64_t offset = 0; offset < count; ++offset) {
            bench->model->host_address = address + offset;
            bench->cycle();
            std::memcpy(words + offset * word_bytes, &bench->model->host_q, word_bytes);
        }
    });
}

// Until the engine is idle, at most `limit` cycles.
EXPORT int bench_wait(Bench* bench, uint64_t limit) {
    return guarded(bench, [=] {
        for (uint64_t count = 0; count < limit && bench->model->busy; ++count) bench->cycle();
    });
}

EXPORT uint64_t bench_cycles(Bench* bench) { return bench->cycles; }

EXPORT uint64_t bench_row_count(Bench* bench) { return bench->rows.size(); }

// Move all (m, l) seen since the last call, as unsigned port values, to `rows`.
EXPORT void bench_take_rows(Bench* bench, int64_t* rows) {
    std::memcpy(rows, bench->rows.data(), bench->rows.size() * sizeof(Row));
    bench->rows.clear();
}
