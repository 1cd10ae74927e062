// The Verilated top `zuboard` between an AXI4-Lite master, which commands on standard input drive, and an AXI4 memory.
//
//   axi_main FD SIZE BASE LATENCY STALLS SEED
//
// The memory is the shared file FD of SIZE bytes, from BASE on; elsewhere is DECERR. LATENCY: cycles to the first beat of a
// read. STALLS: of 256 cycles, those in which a channel holds back, each on its own. Commands, a line each, answered by one:
//   r ADDRESS        -> DATA RESPONSE
//   w ADDRESS DATA   -> RESPONSE
//   c                -> cycles so far, interrupt line
// numbers in hexadecimal. Between commands the clock runs on for a while. The process ends when its input does, or with a
// sentence on standard error if the master breaks a rule of AXI.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "Vsystem.h"
#include "verilated.h"

[[noreturn]] static void fail(const char* sentence) {
    std::fprintf(stderr, "%s\n", sentence);
    std::_Exit(1);
}

void vl_fatal(const char*, int, const char*, const char* message) { fail(message); }

namespace {

constexpr uint64_t RUN_ON = 100'000;    // cycles after a command
constexpr uint64_t LOOK = 1'000;        // cycles between looks at the input
constexpr uint64_t PATIENCE = 100'000;  // cycles for an access to a register
constexpr int OKAY = 0, SLVERR = 2, DECERR = 3;

struct Burst {
    uint64_t address;
    unsigned beats, done;
    uint64_t due;
    int response;
};

struct Board {
    VerilatedContext context;
    Vsystem* top = nullptr;
    uint8_t* memory = nullptr;
    uint64_t size = 0, base = 0, latency = 0, cycles = 0;
    unsigned stalls = 0;
    std::minstd_rand random;
    std::deque<Burst> reads, writes;
    std::deque<int> answers;
    bool held_ar = false, held_aw = false, held_w = false;
    uint64_t ar = 0, aw = 0;

    unsigned beat() const { return sizeof(top->m_axi_wdata); }
    bool free() { return stalls == 0 || (random() >> 8 & 255) >= stalls; }

    Burst accept(uint64_t address, unsigned length, unsigned burst, unsigned bytes) {
        const unsigned beats = length + 1;
        if (burst != 1) fail("the master asks for a burst other than INCR");
        if (1u << bytes != beat() || address % beat()) fail("a beat is not as wide as the bus");
        if (address / 4096 != (address + beats * beat() - 1) / 4096) fail("a burst crosses a multiple of 4096");
        const bool inside = address >= base && address + beats * beat() <= base + size;
        return {address - base, beats, 0, cycles + latency, inside ? OKAY : DECERR};
    }

    void cycle() {
        top->aclk = 0;
        top->eval();
        const bool take_ar = top->m_axi_arvalid && top->m_axi_arready, take_aw = top->m_axi_awvalid && top->m_axi_awready;
        const bool take_w = top->m_axi_wvalid && top->m_axi_wready, took_r = top->m_axi_rvalid && top->m_axi_rready;
        const bool took_b = top->m_axi_bvalid && top->m_axi_bready;
        if (held_ar && (!top->m_axi_arvalid || top->m_axi_araddr != ar)) fail("a read address was withdrawn");
        if (held_aw && (!top->m_axi_awvalid || top->m_axi_awaddr != aw)) fail("a write address was withdrawn");
        if (held_w && !top->m_axi_wvalid) fail("a beat was withdrawn");
        held_ar = top->m_axi_arvalid && !take_ar;
        held_aw = top->m_axi_awvalid && !take_aw;
        held_w = top->m_axi_wvalid && !take_w;
        ar = top->m_axi_araddr;
        aw = top->m_axi_awaddr;
        if (take_ar) reads.push_back(accept(ar, top->m_axi_arlen, top->m_axi_arburst, top->m_axi_arsize));
        if (take_aw) writes.push_back(accept(aw, top->m_axi_awlen, top->m_axi_awburst, top->m_axi_awsize));
        if (take_w) store();
        if (took_r && ++reads.front().done == reads.front().beats) reads.pop_front();
        if (took_b) answers.pop_front();
        top->aclk = 1;
        top->eval();
        ++cycles;
        offer(took_r, took_b);
    }

    // A beat is taken only after its address, see offer.
    void store() {
        Burst& burst = writes.front();
        const uint8_t* data = reinterpret_cast<const uint8_t*>(&top->m_axi_wdata);
        for (unsigned byte = 0; byte < beat() && burst.response == OKAY; ++byte) {
            if (top->m_axi_wstrb >> byte & 1) memory[burst.address + burst.done * beat() + byte] = data[byte];
        }
        const bool last = ++burst.done == burst.beats;
        if (last != bool(top->m_axi_wlast)) fail("wlast is not at the end of the burst");
        if (last) {
            answers.push_back(burst.response);
            writes.pop_front();
        }
    }

    // What the memory drives until the next cycle. What was offered and not taken stays.
    void offer(bool took_r, bool took_b) {
        top->m_axi_arready = reads.size() < 16 && free();
        top->m_axi_awready = writes.size() + answers.size() < 16 && free();
        top->m_axi_wready = !writes.empty() && free();
        if (!top->m_axi_rvalid || took_r) {
            top->m_axi_rvalid = !reads.empty() && cycles >= reads.front().due && free();
            std::memset(&top->m_axi_rdata, 0xA5, beat());
            if (top->m_axi_rvalid) {
                const Burst& burst = reads.front();
                const bool inside = burst.response == OKAY;
                if (inside) std::memcpy(&top->m_axi_rdata, memory + burst.address + burst.done * beat(), beat());
                top->m_axi_rresp = burst.response;
                top->m_axi_rlast = burst.done + 1 == burst.beats;
            }
        }
        if (!top->m_axi_bvalid || took_b) {
            top->m_axi_bvalid = !answers.empty() && free();
            if (top->m_axi_bvalid) top->m_axi_bresp = answers.front();
        }
    }

    void read(uint64_t address) {
        top->s_axi_araddr = address;
        top->s_axi_arvalid = 1;
        top->s_axi_rready = 1;
        for (uint64_t count = 0; count < PATIENCE; ++count) {
            top->aclk = 0;
            top->eval();
            const bool taken = top->s_axi_arvalid && top->s_axi_arready, answered = top->s_axi_rvalid;
            const unsigned data = top->s_axi_rdata, response = top->s_axi_rresp;
            cycle();
            if (taken) top->s_axi_arvalid = 0;
            if (answered) {
                top->s_axi_rready = 0;
                std::printf("%x %x\n", data, response);
                return;
            }
        }
        fail("a register read is not answered");
    }

    void write(uint64_t address, uint32_t data) {
        top->s_axi_awaddr = address;
        top->s_axi_wdata = data;
        top->s_axi_wstrb = 15;
        top->s_axi_awvalid = top->s_axi_wvalid = top->s_axi_bready = 1;
        for (uint64_t count = 0; count < PATIENCE; ++count) {
            top->aclk = 0;
            top->eval();
            const bool address_taken = top->s_axi_awready, data_taken = top->s_axi_wready, answered = top->s_axi_bvalid;
            const unsigned response = top->s_axi_bresp;
            cycle();
            if (address_taken) top->s_axi_awvalid = 0;
            if (data_taken) top->s_axi_wvalid = 0;
            if (answered) {
                top->s_axi_bready = 0;
                std::printf("%x\n", response);
                return;
            }
        }
        fail("a register write is not answered");
    }
};

// Whether there is input, or its end, to be read without waiting.
bool waiting() {
    pollfd input{0, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) fail("usage: axi_main FD SIZE BASE LATENCY STALLS SEED");
    auto number = [&](int index) { return std::strtoull(arguments[index], nullptr, 0); };
    Board board;
    board.size = number(2);
    board.base = number(3);
    board.latency = number(4);
    board.stalls = number(5);
    board.random.seed(number(6) + 1);
    void* mapped = mmap(nullptr, board.size, PROT_READ | PROT_WRITE, MAP_SHARED, number(1), 0);
    if (mapped == MAP_FAILED) fail("cannot map the memory");
    board.memory = static_cast<uint8_t*>(mapped);
    board.context.randReset(2);
    board.context.randSeed(number(6) + 1);
    board.top = new Vsystem{&board.context};
    Vsystem* top = board.top;
    top->aclk = top->aresetn = 0;
    top->s_axi_awvalid = top->s_axi_wvalid = top->s_axi_bready = top->s_axi_arvalid = top->s_axi_rready = 0;
    top->m_axi_awready = top->m_axi_wready = top->m_axi_bvalid = top->m_axi_arready = top->m_axi_rvalid = 0;
    top->m_axi_bid = top->m_axi_rid = 0;
    for (int cycle = 0; cycle < 16; ++cycle) {
        top->aclk = 0;
        top->eval();
        top->aclk = 1;
        top->eval();
    }
    top->aresetn = 1;
    std::setvbuf(stdin, nullptr, _IONBF, 0);
    char line[64];
    for (;;) {
        for (uint64_t run = 0; run < RUN_ON && !waiting(); run += LOOK) {
            for (uint64_t cycle = 0; cycle < LOOK; ++cycle) board.cycle();
        }
        if (!std::fgets(line, sizeof line, stdin)) return 0;
        uint64_t address = 0;
        unsigned data = 0;
        if (std::sscanf(line, "r %" SCNx64, &address) == 1) {
            board.read(address);
        } else if (std::sscanf(line, "w %" SCNx64 " %x", &address, &data) == 2) {
            board.write(address, data);
        } else {
            // `interrupt` is a reserved word to Verilator.
            std::printf("%" PRIx64 " %x\n", board.cycles, unsigned(top->__SYM__interrupt));
        }
        std::fflush(stdout);
    }
}
