"""Explicit widths: what is written, and that Icarus computes the same before and after."""

import random
import subprocess

import pytest

from gen.explicit_widths import declarations, explicit_widths
from gen.verilog_expression import parse, text
from tests.engine_runs import need

NETS = """
wire [4:0] u5;
wire [7:0] u8;
wire u1;
wire signed [4:0] s5;
wire signed [7:0] s8;
reg signed [11:0] y12;
reg [11:0] v12;
reg [5:0] words [0:3];
reg signed [5:0] numbers [0:3];
integer lane;
"""


def written(line):
    return explicit_widths(NETS + line).splitlines()[-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v12 <= (u5 + u8);", "v12 <= {7'd0, u5} + {4'd0, u8};"),
        ("v12 <= (u8 + 1);", "v12 <= {4'd0, u8} + 1;"),
        ("y12 <= (s5 + s8);", "y12 <= $signed({{7{s5[4]}}, s5}) + $signed({{4{s8[7]}}, s8});"),
        # One unsigned operand makes all of it unsigned, and then nothing has a sign to extend.
        ("y12 <= (s5 + u8);", "y12 <= {7'd0, s5} + {4'd0, u8};"),
        ("y12 <= ($signed({1'b0, u5}) - s8);", "y12 <= $signed({7'd0, u5}) - $signed({{4{s8[7]}}, s8});"),
        ("y12 <= $signed(s8 >>> 2);", "y12 <= $signed($signed({{4{s8[7]}}, s8}) >>> 2);"),
        ("y12 <= $signed(u8[5-1:0]);", "y12 <= $signed({{7{u8[4]}}, u8[4:0]});"),
        ("v12 <= words[lane];", "v12 <= {6'd0, words[lane]};"),
        ("y12 <= numbers[1];", "y12 <= $signed({{6{numbers[1][5]}}, numbers[1]});"),
        ("v12 <= u8[3];", "v12 <= {11'd0, u8[3]};"),
        ("v12 <= u8[2+:5];", "v12 <= {7'd0, u8[6:2]};"),
        ("v12 <= (u5 == u8);", "v12 <= {11'd0, {3'd0, u5} == u8};"),
        ("if ((s5 < s8)) begin", "if ($signed({{3{s5[4]}}, s5}) < s8) begin"),
        ("assign u8 = (u5 << 3);", "assign u8 = {3'd0, u5} << 3;"),
        ("u1 <= (u5 != 0);", "u1 <= u5 != 0;"),
        ("u1 = (u8[7] && (!u1));", "u1 = u8[7] && (!u1);"),
        ("y12 <= (s5 * s8);", "y12 <= s5 * s8;"),
        ("v12 <= {u5, u1};", "v12 <= {6'd0, {u5, u1}};"),
    ],
)
def test_operands_are_extended(before, after):
    assert written(before) == after


@pytest.mark.parametrize(
    "line",
    [
        "u5 <= u8;",  # would lose bits: left for lint
        "u8 <= u8 + 1;",
        "always @(posedge clk) begin: step",
        ".d(u5),",
        "if (write) words[u5] <= d;",
    ],
)
def test_nothing_is_narrowed_and_other_lines_stay(line):
    assert written(line) == line


def test_variables_of_one_name_in_two_processes():
    process = "always @(*) begin: {name}\n    reg {shape} n;\n    n = u5;\n    v12 = n;\nend\n"
    source = NETS + process.format(name="first", shape="[5:0]") + process.format(name="second", shape="[8:0]")
    lines = [line.strip() for line in explicit_widths(source).splitlines()]
    assert [line for line in lines if line.startswith(("n =", "v12 ="))] == [
        "n = {1'd0, u5};", "v12 = {6'd0, n};", "n = {4'd0, u5};", "v12 = {3'd0, n};",
    ]  # fmt: skip


def test_declarations():
    shapes = declarations(NETS + "output reg [3:0] q,\n    reg signed [37-1:0] local;\n")
    assert (shapes["u8"].width, shapes["s8"].signed, shapes["words"].words) == (8, True, True)
    assert (shapes["u1"].width, shapes["local"].width, shapes["lane"].width) == (1, 37, 32)


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        leaves = ["u5", "u8", "u1", "s5", "s8", "3", "u8[6-1:2]", "s8[7]", "$signed({1'b0, u5})", "$signed(u8[5-1:0])"]
        return rng.choice(leaves)
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    kind = rng.randrange(8)
    if kind == 0:
        return f"({left} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {right})"
    if kind == 1:
        return f"({left} {rng.choice(['<<', '>>', '>>>'])} {rng.randrange(9)})"
    if kind == 2:
        return f"$signed({left} >>> {rng.randrange(5)})"
    if kind == 3:
        return f"({left} ? {right} : {expression(rng, depth - 1)})"
    if kind == 4:
        return f"({rng.choice('-~')}{left})"
    return f"({left} {rng.choice(['+', '-', '*', '&', '|', '^', '+', '-'])} {right})"


def test_means_the_same(tmp_path):
    """Random expressions of mixed widths and signs, on random and extreme operands."""
    need("icarus")
    rng = random.Random(11)
    drawn = [(rng.choice(["y12", "v12"]), expression(rng, 3)) for _ in range(400)]
    targets = "".join(
        f"reg {'signed ' if target == 'y12' else ''}[11:0] raw{number}, new{number};\n"
        for number, (target, _) in enumerate(drawn)
    )
    body, changed = "", 0
    for number, (target, value) in enumerate(drawn):
        new = written(f"{target} <= {value};").replace(target, f"new{number}", 1)
        changed += new.split("= ", 1)[1] != f"{value};"
        body += f"raw{number} = {value};\n{new.replace('<=', '=', 1)}\n"
        body += f"if (raw{number} !== new{number}) $display(\"%0d: %h %h\", {number}, raw{number}, new{number});\n"
    assert changed > 300
    bench = f"""module bench;
reg [4:0] u5; reg [7:0] u8; reg u1; reg signed [4:0] s5; reg signed [7:0] s8; integer round;
{targets}
initial begin
for (round = 0; round < 300; round = round + 1) begin
    {{u5, u8, u1, s5, s8}} = round == 0 ? 0 : round == 1 ? ~27'd0 : {{$random(round), $random(round)}};
    if (round == 2) begin s5 = -16; s8 = -128; end
    {body}
end
$display("done");
end
endmodule
"""
    (tmp_path / "bench.v").write_text(bench)
    subprocess.run(["iverilog", "-o", "bench.vvp", "bench.v"], cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "bench.vvp"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


def test_printing_is_parsing_backwards():
    shapes = declarations(NETS)
    rng = random.Random(5)
    for _ in range(300):
        node = parse(expression(rng, 4), shapes)
        assert parse(text(node), shapes) == node
