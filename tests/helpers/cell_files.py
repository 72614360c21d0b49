"""A file of cells with status, and the metadata that describe it."""

CELLS = """\
Total;Total;100;12;S
Total;a;40;5;S
Total;b;60;7;S
m;Total;45;6;S
m;a;10;1;U
m;b;35;5;S
w;Total;55;6;S
w;a;30;4;S
w;b;25;2;S
"""
METADATA = """\
<SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
<PROTECT> P
sex
 <RECODEABLE>
branch
 <RECODEABLE>
turnover
 <NUMERIC>
n
 <FREQUENCY>
state
 <STATUS>
"""
