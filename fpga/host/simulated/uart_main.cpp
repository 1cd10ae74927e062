// The Verilated top of a UART board at the end of a pseudo-terminal.
//
//   uart_main CLOCKS SEED
//
// CLOCKS: of a bit. The first line on standard output is the terminal's name. Bytes written there reach pin rx bit by bit,
// and those that pin tx sends can be read there. The process ends when its standard input does. While the line is idle for
// long, the clock slows down.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "Vsystem.h"
#include "verilated.h"

[[noreturn]] static void fail(const char* sentence) {
    std::fprintf(stderr, "%s\n", sentence);
    std::_Exit(1);
}

void vl_fatal(const char*, int, const char*, const char* message) { fail(message); }

namespace {

constexpr uint64_t LOOK = 256;          // cycles between looks at the terminal and at the input
constexpr uint64_t AWAKE = 1'000'000;   // cycles without a byte after which the clock slows down
constexpr int SLOW = 5;                 // milliseconds of sleep between looks then

class Line {
public:
    explicit Line(unsigned clocks) : clocks(clocks), gap(20 * clocks) {}  // nothing is sent during reset

    std::deque<uint8_t> out;  // to rx
    std::deque<uint8_t> in;   // from tx
    uint64_t quiet = 0;       // cycles without a byte

    // What rx is in this cycle.
    bool drive() {
        if (!left && !out.empty() && gap == 0) {
            frame = out.front() << 1 | 0x200;
            out.pop_front();
            left = 10 * clocks;
        }
        if (!left) return true;
        const bool level = frame >> ((10 * clocks - left) / clocks) & 1;
        --left;
        quiet = 0;
        return level;
    }

    void sample(bool level) {
        ++quiet;
        if (gap) --gap;
        if (!receiving && !level) {
            receiving = true;
            age = 0;
            bits = 0;
        }
        if (!receiving) return;
        quiet = 0;
        if (age % clocks == clocks / 2) bits |= unsigned(level) << age / clocks;
        if (++age < 10 * clocks) return;
        receiving = false;
        if ((bits & 0x201) != 0x200) fail("a start or stop bit of the device is wrong");
        in.push_back(bits >> 1);
        gap = 10 * clocks;  // a host takes longer than this to answer
    }

private:
    const unsigned clocks;
    unsigned gap, frame = 0, left = 0, bits = 0, age = 0;
    bool receiving = false;
};

int open_terminal() {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) fail("there is no pseudo-terminal to be had");
    const char* name = ptsname(terminal);
    const int other = open(name, O_RDWR | O_NOCTTY);  // stays open, so that the terminal survives its users
    termios settings;
    if (other < 0 || tcgetattr(other, &settings)) fail("cannot open the pseudo-terminal");
    cfmakeraw(&settings);
    tcsetattr(other, TCSANOW, &settings);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    std::printf("%s\n", name);
    std::fflush(stdout);
    return terminal;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) fail("usage: uart_main CLOCKS SEED");
    Line line(std::strtoul(arguments[1], nullptr, 0));
    const int seed = std::strtol(arguments[2], nullptr, 0) + 1;
    VerilatedContext context;
    context.randReset(2);
    context.randSeed(seed);
    Vsystem top{&context};
    const int terminal = open_terminal();
    for (uint64_t cycle = 0;; ++cycle) {
        top.reset = cycle < 16;
        top.rx = line.drive();
        top.clk = 0;
        top.eval();
        if (cycle >= 32) line.sample(top.tx);
        top.clk = 1;
        top.eval();
        if (cycle % LOOK) continue;
        pollfd inputs[2] = {{0, POLLIN, 0}, {terminal, POLLIN, 0}};
        poll(inputs, 2, line.quiet > AWAKE ? SLOW : 0);
        char buffer[4096];
        if (inputs[0].revents && read(0, buffer, sizeof buffer) <= 0) return 0;
        if (inputs[1].revents & POLLIN) {
            const ssize_t size = read(terminal, buffer, sizeof buffer);
            if (size > 0) line.out.insert(line.out.end(), buffer, buffer + size);
        }
        while (!line.in.empty()) {
            const ssize_t written = write(terminal, &line.in.front(), 1);
            if (written != 1) break;
            line.in.pop_front();
        }
    }
}
