// Testbench verbs around the compiled model of engine_system, called from gen/verilator.py.
//
// A cycle is a rising and a falling edge; ports are driven and sampled at the falling edge. Words wider than 32 bits
// are arrays of uint32_t, lowest first. PORTS in ports.h lists the ports, PORT(name) each.
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vsystem.h"
#include "ports.h"
#include "verilated.h"
#ifdef TRACE
#include "verilated_vcd_c.h"
#endif

double sc_time_stamp() { return 0; }

namespace {

template <class Port> void put(Port& port, const uint32_t* words) {
    if constexpr (std::is_integral_v<Port>) {
        uint64_t value = words[0];
        if constexpr (sizeof(Port) > 4) value |= static_cast<uint64_t>(words[1]) << 32;
        port = static_cast<Port>(value);
    } else {
        std::memcpy(&port[0], words, sizeof(Port));
    }
}

template <class Port> void take(const Port& port, uint32_t* words) {
    if constexpr (std::is_integral_v<Port>) {
        const uint64_t value = port;
        words[0] = static_cast<uint32_t>(value);
        if constexpr (sizeof(Port) > 4) words[1] = static_cast<uint32_t>(value >> 32);
    } else {
        std::memcpy(words, &port[0], sizeof(Port));
    }
}

struct Bench {
    VerilatedContext context;
    std::unique_ptr<Vsystem> model;
#ifdef TRACE
    VerilatedVcdC trace;
#endif

    explicit Bench(const char* trace_file) {
        // Registers and memories start with random bits, the same ones each time.
        context.randReset(2);
        context.randSeed(1);
#ifdef TRACE
        context.traceEverOn(true);
#endif
        model = std::make_unique<Vsystem>(&context, "");
#ifdef TRACE
        model->trace(&trace, 99);
        trace.open(trace_file);
#else
        (void)trace_file;
#endif
        model->clk = 0;
        settle();
    }

    void settle() {
        model->eval();
#ifdef TRACE
        trace.dump(context.time());
#endif
        context.timeInc(5);
    }

    void step() {
        model->clk = 1;
        settle();
        model->clk = 0;
        settle();
    }
};

}  // namespace

extern "C" {

Bench* bench_new(const char* trace_file) { return new Bench(trace_file); }

void bench_delete(Bench* bench) {
#ifdef TRACE
    bench->trace.close();
#endif
    bench->model->final();
    delete bench;
}

void bench_set(Bench* bench, int port, const uint32_t* words) {
    int index = 0;
#define PORT(name) if (index++ == port) put(bench->model->name, words);
    PORTS
#undef PORT
}

void bench_get(Bench* bench, int port, uint32_t* words) {
    int index = 0;
#define PORT(name) if (index++ == port) take(bench->model->name, words);
    PORTS
#undef PORT
}

void bench_step(Bench* bench, uint64_t cycles) {
    while (cycles--) bench->step();
}

// Write `count` words of WORD 32-bit words each from an address on, one a cycle.
void bench_load(Bench* bench, uint32_t address, uint64_t count, const uint32_t* words) {
    bench->model->host_write = 1;
    for (uint64_t index = 0; index < count; ++index) {
        bench->model->host_address = address + index;
        put(bench->model->host_data, words + index * WORD);
        bench->step();
    }
    bench->model->host_write = 0;
}

void bench_read_back(Bench* bench, uint32_t address, uint64_t count, uint32_t* words) {
    for (uint64_t index = 0; index < count; ++index) {
        bench->model->host_address = address + index;
        bench->step();
        take(bench->model->host_q, words + index * WORD);
    }
}

// Step until busy is low, at most `limit` cycles; appends (maximum, total) of each row that becomes final to `rows`,
// which has room for `capacity` of them, and adds to `count`. Returns the cycles stepped.
uint64_t bench_wait(Bench* bench, uint64_t limit, int64_t* rows, uint64_t capacity, uint64_t* count) {
    uint64_t cycles = 0;
    while (bench->model->busy && cycles < limit) {
        bench->step();
        ++cycles;
        if (bench->model->debug_valid) {
            if (*count < capacity) {
                rows[2 * *count] = bench->model->debug_maximum;
                rows[2 * *count + 1] = bench->model->debug_total;
            }
            ++*count;
        }
    }
    return cycles;
}

}  // extern "C"
