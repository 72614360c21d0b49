// Where a reader may go wrong
local sep ///
  "a"
display "http://www.example.org/*.dta"
use c:/data//x.dta, clear
gen a = b//c
gen d = e /* one */ * /* two /* three */ four */ f
di `"He said "list x" and `"left"' again"'
di "``name''" `=strpos("ab", "b")' "${path}/x"
local n : word count `: variable label x'
local ++i
global g : display %9.2f `=r(mean)'
if "`a'" == "" list x1
if `"`b'"' != `"x "y""' & (c == 2) tab x2
if x[_n-1] == 3 | inlist(y, 1, 2) su x3
if _rc exit
else if "`a'" == "b" { 
    list x4
}
else list x5
capture { 
    list x6 
}
cap n by id (t): list x7
qui bys id (t): replace x = x[_N]
noi: list x8
`quietly' list x9
`cap' `noi' list x10
su`marize' x11
`cmd'
${cmd} x12
* use "c:/data/*.dta"
list x13
* reg y x ///
    z w
list x14
*/ list x15
regress y c.x#c.y i.z##L(1/2).w 1.x#c.y, noconstant
graph bar (mean) wage, over(educ, label(angle(45))) title({it:wage} {bf:2010})
merge 1:1 id using other, keep(1 3) nogen
gettoken first rest : list
note: a list of things
constraint 1 [eq1]x = [eq2]y
while `i' < 3 {
    local i = `i' + 1
    list x16 if i == `i'
}
di as txt "{hline 20}" _n "{c |}" 
//list not this
* list nor this
***list nor that
/// continuation of nothing
list x17
twoway scatter y x || lfit y x, ///  the line
    legend(off) // done
local c "list x"
foreach cmd in summarize list { 
    `cmd' x
}
list x18	// after a tab
label define yn 0 "no" 1 "yes: of course"
for var a b: list X
if `x' `op' 3 list x19
li/* parted */st x20
