* Programs that try to show or carry away the value of one record, or names of records, each
* with what must become of it at least: error, refused, review or safe (a safe command runs in
* its place), and the line of the program in which that must be so. Nothing in them is real.
* ---- refused 2: label of a variable from a macro function
local v : display wage[17]
label variable age "`v'"
* ---- refused 1: label define with a value in a number
label define one `=wage[17]' "x"
* ---- refused 2: label define with modify
scalar top = wage[17]
label define one 1 "`=top'", modify
* ---- refused 1: label data
label data "`=wage[17]'"
* ---- refused 1: label values by a name made of a value
label values age l`=wage[17]'
* ---- review 3: encoded text by a macro function of a variable
encode name, generate(code)
local t : label (code) 17
display "`t'"
* ---- review 3: encoded text by a macro function of a label
encode name, generate(code) label(names)
local t : label names 17
display "`t'"
* ---- review 2: encoded text shown on the spot
encode name, generate(code)
display "`: label code 17'"
* ---- review 2: encoded text in a title
encode name, generate(code)
graph bar wage, title("`: label code 17'")
* ---- review 4: encoded text in a loop
encode name, generate(code)
forvalues i = 1/20 {
local t : label code `i'
display "`t'"
}
* ---- review 2: encoded text in a note
encode name, generate(code)
notes: `: label code 17'
* ---- review 3: encoded text as the label of a variable
encode name, generate(code)
local t : label code 17
label variable age "`t'"
* ---- review 2: labels turned into data
encode name, generate(code)
uselabel code, clear
* ---- safe 2: labels made of a text variable
labmask code, values(name)
tabulate code
* ---- review 2: label list with prefixes
encode name, generate(code)
capture noisily by age: label list code
* ---- review 2: label dir and list by abbreviation
encode name, generate(code)
la li code
* ---- review 2: label save by abbreviation
encode name, generate(code)
lab sav code using x.do
* ---- refused 1: note with a value
note wage: `=wage[17]'
* ---- refused 2: notes by a macro
local v = wage[17]
notes wage : "case `v'"
* ---- refused 1: note read back
notes replace wage in 1 : `=wage[17]'
* ---- refused 1: characteristic
char wage[top] `=wage[17]'
* ---- refused 2: characteristic of the data set
local v = wage[17]
char _dta[top] "`v'"
* ---- refused 1: characteristic defined in full
char define wage[top] `=wage[17]'
* ---- refused 2: characteristic read by a function
local v : char wage[top]
display "`v'"
* ---- refused 1: characteristic shown on the spot
display "`wage[top]'"
* ---- refused 2: characteristic by the macro form
local v `wage[top]'
display "`v'"
* ---- refused 3: characteristics renamed
char rename wage age
local v : char age[top]
display "`v'"
* ---- review 1: name of a variable
generate v`=wage[17]' = 1
* ---- review 3: name of a variable by a macro
local v = wage[17]
generate byte v`v' = 1
describe
* ---- review 2: name of a variable by egen
local v = wage[17]
egen v`v' = mean(age)
* ---- refused 1: name of a variable by rename
rename age a`=round(wage[17])'
* ---- refused 2: names of variables by a rename of a group
local v = wage[17]
rename (age sex) (a`v' s`v')
* ---- review 1: name of a variable by clonevar
clonevar w`=wage[17]' = wage
* ---- review 1: name of a variable by an option
xtile q, nq(5) gen(q`=wage[17]')
* ---- review 2: name of a variable by a scalar
scalar top = wage[17]
generate v`=top' = 1
* ---- review 2: names of dummies
tabulate wage, generate(d)
describe d*
* ---- review 2: names by reshape
reshape wide age, i(sex) j(wage)
describe
* ---- review 2: names by separate
separate age, by(wage)
describe
* ---- review 1: names by xpose
xpose, clear varname
describe
* ---- review 2: names by xi
xi i.wage
describe
* ---- refused 3: names of rows of a matrix
matrix A = (1, 2)
matrix rownames A = r`=wage[17]'
matrix list A
* ---- refused 4: names of columns of a matrix
matrix A = (1, 2)
local v = wage[17]
matrix colnames A = a`v' b
matrix list A
* ---- refused 3: names of equations of a matrix
matrix A = (1, 2)
matrix roweq A = `=name[17]'
matrix list A
* ---- refused 4: names of rows listed by a function
matrix A = (1, 2)
matrix rownames A = r`=wage[17]'
local r : rownames A
display "`r'"
* ---- review 1: name of a matrix
matrix m`=wage[17]' = 1
matrix dir
* ---- refused 2: name of a scalar
scalar s`=wage[17]' = 1
scalar dir
* ---- refused 1: name of a program
program p`=wage[17]'
end
program dir
* ---- refused 1: name of a frame
frame create f`=wage[17]'
frames dir
* ---- review 2: name of a stored model
quietly regress wage age
estimates store m`=wage[17]'
estimates dir
* ---- review 1: name of a stored model by eststo
eststo m`=wage[17]': regress wage age
* ---- refused 2: title of a stored model
quietly regress wage age
estimates title: `=wage[17]'
* ---- refused 2: notes of a stored model
quietly regress wage age
estimates notes: `=wage[17]'
* ---- review 2: label of a value in a stored model
quietly regress wage age
estimates store a, title("`=wage[17]'")
* ---- refused 1: name of a timer result
timer on `=wage[17]'
timer list
* ---- refused 1: name of a constraint
constraint 1 age = `=wage[17]'
constraint list
* ---- refused 1: name of a file that is saved
save "d`=wage[17]'", replace
* ---- refused 1: name of a log
log using "l`=wage[17]'.log"
* ---- refused 1: name of a graph
graph bar wage, name(g`=wage[17]')
* ---- refused 2: name of a graph file
local v = wage[17]
graph export "g`v'.png"
* ---- refused 1: name of a folder
mkdir f`=wage[17]'
* ---- refused 1: name of a folder that is not there
cd f`=wage[17]'
* ---- refused 1: name of a data set that is not there
capture noisily use d`=wage[17]'
* ---- review 2: name of a data set to merge
local v = wage[17]
merge 1:1 id using d`v'
* ---- refused 1: name of a data set to append
append using "d`=wage[17]'"
* ---- refused 1: name of a do-file
do d`=wage[17]'
* ---- refused 1: name of a data set in a prefix
frame other: use d`=wage[17]'
* ---- review 1: name of a variable that is not there
summarize v`=wage[17]'
* ---- review 2: name of a variable that is not there, confirmed
local v = wage[17]
confirm variable v`v'
* ---- refused 1: name of a file that is not there, confirmed
confirm file "`=name[17]'"
* ---- review 1: a number that is confirmed
confirm integer number `=wage[17]'
* ---- review 1: name of a variable that is dropped
drop v`=wage[17]'
* ---- review 2: name of a variable that is kept
local v = wage[17]
keep v`v'
* ---- review 1: name of a variable in an order
order v`=wage[17]'
* ---- review 1: name of a variable in a sort
sort v`=wage[17]'
* ---- refused 1: name of a command that is not there
x`=wage[17]'
* ---- review 1: name of an option that is not there
summarize wage, o`=wage[17]'
* ---- review 1: version that is not there
version `=wage[17]'
* ---- refused 1: width of the lines
set linesize `=wage[17]'
* ---- refused 1: seed
set seed `=wage[17]'
* ---- refused 1: number of observations
set obs `=wage[17]'
* ---- refused 1: sleep
sleep `=wage[17]'
* ---- refused 1: error code
error `=wage[17]'
* ---- refused 1: exit code
exit `=wage[17]'
* ---- refused 1: exit code by an expression
exit wage[17]
* ---- refused 2: error text
local v = wage[17]
display as error "`v'"
* ---- refused 1: text of a window
window stopbox note "`=wage[17]'"
* ---- refused 1: text of a pause
pause `=wage[17]'
* ---- refused 2: text of more
set more on
more `=wage[17]'
* ---- refused 1: text of an assertion
assertmac "`=wage[17]'"
* ---- refused 4: text of a title that is split
local a = wage[17]
local b "`a'"
local c "`b'"
histogram age, title("mean of `c'")
* ---- refused 1: text in a graph
graph bar wage, text(1 1 "`=wage[17]'")
* ---- refused 1: subtitle of a graph
histogram wage, subtitle("`=wage[17]'")
* ---- review 1: caption of a graph
histogram wage, caption(`=wage[17]')
* ---- review 1: line of a graph
histogram wage, xline(`=wage[17]')
* ---- review 1: range of a graph
histogram wage, xscale(range(0 `=wage[17]'))
* ---- review 1: labels of an axis
histogram wage, xlabel(`=wage[17]' "x")
* ---- review 1: labels of an axis that are made
histogram wage, xlabel(minmax)
* ---- review 1: width of bars
histogram wage, width(1) discrete
* ---- review 1: start of bars
histogram wage, start(`=wage[17]')
* ---- refused 1: function that is drawn
twoway function y = wage[17]*x
* ---- refused 1: immediate plot
twoway scatteri 1 `=wage[17]'
* ---- refused 2: immediate plot by a macro
local v = wage[17]
twoway pci 0 0 1 `v'
* ---- refused 1: marker labels
twoway scatter wage age, mlabel(id)
* ---- refused 1: line under a prefix of the graph
graph twoway line wage id
* ---- refused 1: plot by its abbreviation
tw sc wage id
* ---- refused 1: plot by an old word
gr7 wage id
* ---- review 2: plot by a macro
local p scatter
twoway `p' wage id
* ---- refused 1: plot within an option
twoway lfit wage age, addplot(scatter wage age)
* ---- refused 1: plot that another becomes
twoway lfit wage age, recast(scatter)
* ---- review 1: plot of means of single cases
graph bar wage, over(id)
* ---- review 1: plot as it is
graph bar (asis) wage, over(id)
* ---- review 1: plot of extremes
graph bar (max) wage (min) wage
* ---- review 1: dot chart of each case
graph dot wage, over(name)
* ---- review 1: pie of each case
graph pie wage, over(name)
* ---- refused 1: matrix of plots
graph matrix wage age
* ---- refused 1: plots of outliers
graph box wage, marker(1, mlabel(id))
* ---- review 2: plots that are put together
scatter wage age, name(a)
graph combine a
* ---- refused 2: plot of a model with residuals
regress wage age
rvfplot, mlabel(id)
* ---- refused 2: plot of added variables
regress wage age
avplots, mlabel(id)
* ---- review 2: plot after margins at a single case
regress wage age
margins, at(age = `=age[17]')
* ---- review 2: coefplot of a matrix of values
mkmat wage in 1/5, matrix(A)
coefplot matrix(A)
* ---- review 2: plot of a matrix
mkmat wage age, matrix(A)
plotmatrix, mat(A)
* ---- refused 1: event plot with each case
twoway connected wage year, by(id)
* ---- refused 1: bars of a range
twoway rbar low high id
* ---- refused 1: quantile plot
quantile wage
* ---- review 1: one bar by a condition
graph bar wage if id == 17
* ---- review 1: kernel of a few
kdensity wage if id == 17
* ---- review 1: graph exported as data
graph export x.svg
* ---- review 1: graph saved with its data
graph save x.gph
* ---- review 1: graph with its data in the file
graph bar wage, saving(x.gph, asis)
* ---- review 1: serset of a graph
serset use
* ---- refused 1: edited graph
gr_edit .title.text = {"`=wage[17]'"}
* ---- refused 1: object of a graph
.Graph.title.text.Arrpush "`=wage[17]'"
* ---- review 2: capture and assert on one record
capture assert wage[17] > 5000
display _rc
* ---- review 2: capture and assert on all records
capture assert wage < 5000
display _rc
* ---- review 4: capture in a block
capture {
assert wage[17] > 5000
}
display _rc
* ---- review 3: capture that decides what is shown
capture assert wage[17] > 5000
if _rc display "less"
else display "more"
* ---- review 4: capture that decides a loop
forvalues i = 1/100 {
capture assert wage < `i' * 100
if _rc == 0 {
display `i'
}
}
* ---- review 3: capture kept in a macro
capture assert wage[17] > 5000
local r = _rc
display `r'
* ---- review 3: capture kept in a scalar
capture assert wage[17] > 5000
scalar r = _rc
display scalar(r)
* ---- review 2: capture by another name
capture assert wage[17] > 5000
display c(rc)
* ---- review 2: capture and confirm
capture confirm integer number `=wage[17]'
display _rc
* ---- review 2: capture and error
capture error (wage[17] > 5000) * 198
display _rc
* ---- review 2: capture and exit
capture exit wage[17]
display _rc
* ---- review 2: capture and a variable that may be there
capture confirm variable v`=wage[17]'
display _rc
* ---- review 1: capture and keep
capture keep if wage[17] > 5000
display _N
* ---- review 2: capture and merge
capture merge 1:1 wage using guess, assert(match)
display _rc
* ---- review 2: capture and isid
capture isid wage
display _rc
* ---- review 1: assert that is fast
assert wage[17] < 5000
* ---- review 2: assert in a loop
forvalues i = 1/100 {
assert wage < `i' * 100
}
* ---- review 2: a condition on one record
if wage[17] > 5000 {
display "more"
}
* ---- review 1: a condition on one record in a line
if wage[17] > 5000 display "more"
* ---- review 2: a condition that decides a table
if wage[17] > 5000 {
tabulate sex
}
* ---- review 1: a condition that decides a model
if wage[17] > 5000 regress wage age
* ---- review 2: a condition that decides a variable
if wage[17] > 5000 {
generate more = 1
}
describe
* ---- review 4: a condition that decides a macro
if wage[17] > 5000 {
local t "more"
}
display "`t'"
* ---- review 3: a condition that decides a macro in a line
local t "less"
if wage[17] > 5000 local t "more"
display "`t'"
* ---- review 3: a condition that decides a scalar
if wage[17] > 5000 scalar t = 1
else scalar t = 2
display scalar(t)
* ---- review 3: a condition that decides a matrix
matrix A = (0, 0)
if wage[17] > 5000 matrix A[1,1] = 1
matrix list A
* ---- review 2: a condition that decides a global
if wage[17] > 5000 global t "more"
display "$t"
* ---- review 1: a condition that decides an end
if wage[17] > 5000 exit
display "less"
* ---- review 1: a condition that decides an error
if wage[17] > 5000 error 198
* ---- review 1: a condition that decides a label
if wage[17] > 5000 label variable age "more"
describe
* ---- review 1: a condition that decides a file
if wage[17] > 5000 save more, replace
* ---- review 1: a condition that decides a seed
if wage[17] > 5000 set seed 1
* ---- review 1: a condition that decides a note
if wage[17] > 5000 notes: more
* ---- review 3: a condition by a macro
local v = wage[17]
if `v' > 5000 {
tabulate sex
}
* ---- review 3: a condition by a scalar
scalar v = wage[17]
if v > 5000 {
tabulate sex
}
* ---- review 3: a condition by a macro of a condition
local v = wage[17] > 5000
if `v' {
tabulate sex
}
* ---- review 3: a condition on the first record
sort wage
if wage > 5000 {
display "more"
}
* ---- review 1: a condition on the name of a record
if name[17] == "Miller" display "yes"
* ---- review 4: a condition on a maximum in a loop
summarize wage
forvalues i = 1/100 {
if r(max) > `i' * 100 {
display `i'
}
}
* ---- review 4: a condition on a maximum that decides a macro
summarize wage
local t "less"
if r(max) > 5000 local t "more"
display "`t'"
* ---- review 2: a condition on a maximum that decides a table
summarize wage
if r(max) > 5000 tabulate sex
* ---- review 6: a loop that finds a maximum
summarize wage
local i 0
while `i' < r(max) {
local i = `i' + 1
}
display `i'
* ---- review 6: a loop that finds a maximum by a prefix sign
summarize wage
local i 0
while `i' < r(max) {
local ++i
}
display `i'
* ---- review 5: a loop that finds one record
local i 0
while `i' < wage[17] {
local ++i
}
display `i'
* ---- review 2: a loop with an end by one record
forvalues i = 1/10000 {
if `i' > wage[17] continue, break
local j = `i'
}
display `j'
* ---- review 2: a loop as long as one record
forvalues i = 1/`=wage[17]' {
display "x"
}
* ---- review 4: a loop as long as one record that makes variables
forvalues i = 1/`=wage[17]' {
generate v`i' = 1
}
describe
* ---- review 5: a loop as long as one record that counts
local j 0
forvalues i = 1/`=wage[17]' {
local ++j
}
display `j'
* ---- refused 3: a loop through the values of a variable
levelsof wage, local(l)
foreach i of local l {
display `i'
}
* ---- review 2: a loop through the values by a short option
levelsof wage, l(l)
display "`l'"
* ---- review 2: a loop through the values by a shorter command
levels wage, loc(l)
display "`l'"
* ---- review 2: values in a result
levelsof wage
display r(levels)
* ---- review 2: values in a matrix by a short option
levelsof wage, matrow(A)
matrix list A
* ---- review 2: cells in a matrix
tabulate id wage, matcell(A)
matrix list A
* ---- review 2: cells in a matrix, rows
tabulate wage, matrow(A)
matrix list A
* ---- refused 2: values in a matrix by a short option of mkmat
mkmat wage, mat(A)
matrix list A
* ---- refused 2: values in a matrix by the shortest option of mkmat
mkmat wage, m(A)
matrix list A
* ---- refused 3: values in a matrix and its transpose
mkmat wage age, mat(A)
matrix B = A'
matrix list B
* ---- refused 3: values in a matrix and a product
mkmat wage in 17, matrix(A)
matrix B = A * 2
display B[1,1]
* ---- review 2: values by accum
matrix accum A = wage if id == 17, noconstant
matrix list A
* ---- review 2: values by vecaccum
matrix vecaccum A = wage age if id == 17
matrix list A
* ---- review 2: values by glsaccum
matrix glsaccum A = wage, group(id) glsmat(W) row(r)
matrix list A
* ---- review 2: values by opaccum
matrix opaccum A = wage, group(id) opvar(age)
matrix list A
* ---- refused 2: values by score
matrix score w = b
list w
* ---- refused 4: values posted as estimates
mkmat wage in 1/5, matrix(A)
matrix A = A'
ereturn post A
ereturn display
* ---- refused 6: values posted in a program
program p, eclass
matrix A = (wage[17])
ereturn post A
end
p
matrix list e(b)
* ---- refused 5: values posted as a scalar
program p, eclass
ereturn scalar top = wage[17]
end
p
display e(top)
* ---- review 5: values posted as a macro
program p, eclass
ereturn local top "`=wage[17]'"
end
p
ereturn list
* ---- refused 6: values posted as a matrix
program p, eclass
mkmat wage in 1/5, matrix(A)
ereturn matrix top = A
end
p
matrix list e(top)
* ---- refused 6: values returned as a matrix
program p, rclass
mkmat wage in 1/5, matrix(A)
return matrix top = A
end
p
matrix list r(top)
* ---- refused 5: values returned by sclass
program p, sclass
sreturn local top = wage[17]
end
p
display "`s(top)'"
* ---- review 3: values posted and shown as a table of models
mkmat wage in 1/5, matrix(A)
matrix A = A'
ereturn post A
estimates table
* ---- review 3: values posted and stored
mkmat wage in 1/5, matrix(A)
matrix A = A'
ereturn post A
estimates store a
estimates replay a
* ---- review 3: values posted and tested
matrix A = (1)
matrix A[1,1] = wage[17]
ereturn post A
test c1 = 0
* ---- review 2: values posted and combined
matrix A = (wage[17])
ereturn post A
lincom c1
* ---- review 2: values posted and tabled
matrix A = (wage[17])
ereturn post A
esttab
* ---- review 3: values posted by name of a temporary matrix
tempname b
matrix `b' = wage[17]
ereturn post `b'
estimates store a
estimates table a
* ---- review 4: values posted by repost
regress wage age
matrix b = e(b)
matrix b[1,1] = wage[17]
ereturn repost b = b
estimates table
* ---- refused 2: values added to a model
regress wage age
estadd scalar top = wage[17]
esttab, stats(top)
* ---- refused 3: values added to a model by estadd of a matrix
regress wage age
mkmat wage, matrix(A)
estadd matrix top = A
* ---- refused 1: values in the constraint of a model
constraint 1 age = `=wage[17]'
cnsreg wage age, constraints(1)
* ---- refused 2: values in an offset
regress wage age
test age = wage[17]
* ---- refused 1: values in a nonlinear combination
nlcom _b[age] * wage[17]
* ---- refused 3: values by predict
regress wage i.id
predict p
list p
* ---- safe 2: values by predict, then summarized for one
predict p
summarize p if id == 17
display r(mean)
* ---- safe 1: mean of one case
summarize wage if id == 17
display r(mean)
* ---- safe 1: sum of one case
quietly summarize wage if id == 17
display r(sum)
* ---- safe 1: mean of one record by its place
quietly summarize wage in 17
display r(mean)
* ---- safe 1: mean of one case, meanonly
summarize wage if _n == 17, meanonly
local m = r(mean)
display `m'
* ---- safe 2: mean of the largest
egen r = rank(-wage)
quietly summarize wage if r == 1
display r(mean)
* ---- safe 2: mean of the largest by a maximum
quietly summarize wage
quietly summarize wage if wage == r(max)
display r(mean)
* ---- review 2: median of two
quietly summarize wage if id == 17, detail
display r(p50)
* ---- refused 2: smallest four by summarize
quietly summarize wage, detail
display r(p99)
* ---- review 2: mean by the mean of a variable of one value
egen m = max(wage)
summarize m
* ---- review 2: mean by the mean of a variable of one value in groups
bysort sex: egen m = max(wage)
tabstat m, by(sex)
* ---- review 1: difference of a variable and one record
generate d = wage - wage[17]
summarize d
* ---- review 2: one record for all
generate d = wage[17]
mean d
* ---- review 3: one record for all by a sort
sort wage
generate d = wage[_N]
regress d
* ---- review 3: the last record for all by a carry
sort wage
replace wage = wage[_n-1] if _n > 1
summarize wage
* ---- safe 2: one case among missing
generate d = wage if id == 17
summarize d
* ---- review 2: one case by cond
generate d = cond(id == 17, wage, .)
mean d
* ---- review 2: one case by a product
generate d = wage * (id == 17)
total d
* ---- refused 2: one case by an egen total
egen d = total(wage * (id == 17))
display d
* ---- refused 3: one case by collapse
keep if id == 17
collapse (mean) wage
list
* ---- safe 2: one case by collapse, then tabulated
collapse (mean) wage, by(id)
tabulate wage
* ---- review 2: one case by collapse, first
collapse (first) wage, by(sex)
tabulate wage
* ---- review 2: one case by collapse, first not missing
collapse (firstnm) wage, by(sex)
mean wage
* ---- review 2: one case by collapse, percentile
collapse (p99) wage, by(sex)
summarize wage
* ---- refused 2: one case by collapse, then a display
collapse (max) wage
display wage[1]
* ---- safe 2: one case by contract
contract wage
tabulate wage [fweight=_freq]
* ---- review 2: one case by contract, saved
contract wage
save freq
* ---- safe 2: one case by statsby
statsby m=r(mean), by(id) clear: summarize wage
summarize m
* ---- review 1: one case by statsby, saved
statsby m=r(mean), by(id) saving(x): summarize wage
* ---- review 1: one case by rolling
rolling m=r(mean), window(1) saving(x): summarize wage
* ---- refused 1: one case by simulate
simulate m=r(max), reps(2): summarize wage
* ---- safe 6: one case by a program that is simulated
program p, rclass
summarize wage in 17
return scalar m = r(mean)
end
simulate m=r(m), reps(2): p
summarize m
* ---- review 1: one case by jackknife
jackknife m=r(mean), saving(x): summarize wage
* ---- refused 1: one case by a bootstrap of a maximum
bootstrap m=r(max), reps(5): summarize wage
* ---- refused 1: one case by permute
permute wage m=r(max), reps(5): summarize wage
* ---- review 1: one case by svy
svy: mean wage if id == 17
* ---- refused 1: one case by mi
mi xeq: list wage
* ---- refused 1: one case by by
by id: display wage
* ---- safe 1: one case by by and summarize
by id, sort: summarize wage
* ---- safe 1: one case by bysort with tabulate
bysort id: tabulate wage
* ---- safe 1: one case by xi
xi: regress wage i.id
* ---- review 1: one case by table
table id, statistic(mean wage)
* ---- review 1: one case by an old table
table id, c(mean wage)
* ---- safe 1: one case by tabstat
tabstat wage, by(id)
* ---- review 1: one case by tabulate with sums
tabulate id, summarize(wage)
* ---- review 1: one case by mean over
mean wage, over(id)
* ---- safe 1: one case by margins over
regress wage i.id
margins id
* ---- review 1: one case by total over
total wage, over(id)
* ---- review 1: one case by ratio
ratio wage/age if id == 17
* ---- review 1: one case by ameans
ameans wage if id == 17
* ---- review 1: one case by ci
ci means wage if id == 17
* ---- review 1: one case by centile
centile wage, centile(100)
* ---- refused 2: one case by pctile
pctile p = wage, nq(100)
list p
* ---- review 2: one case by _pctile
_pctile wage, percentiles(99.9)
display r(r1)
* ---- safe 2: one case by xtile
xtile q = wage, nq(100)
tabstat wage, by(q)
* ---- refused 1: one case by lv
lv wage
* ---- refused 1: one case by stem
stem wage
* ---- safe 1: one case by codebook
codebook wage
* ---- refused 1: one case by inspect
inspect wage
* ---- review 1: one case by tab1
tab1 wage
* ---- review 1: one case by tab2
tab2 id wage
* ---- review 1: one case by tabi
tabi `=wage[17]' 1 \ 1 1
* ---- review 1: one case by ttesti
ttesti 10 `=wage[17]' 1 0
* ---- review 1: one case by cii
cii means 10 `=wage[17]' 1
* ---- refused 1: one case by tabdisp
tabdisp id, cell(wage)
* ---- refused 1: one case by duplicates
duplicates list wage
* ---- refused 1: one case by duplicates examples
duplicates ex wage
* ---- safe 1: one case by ttest
ttest wage if inlist(id, 17, 18), by(id)
* ---- review 1: one case by oneway
oneway wage id, tabulate
* ---- safe 1: one case by anova
anova wage id
* ---- safe 1: one case by a saturated model
regress wage ibn.id, noconstant
* ---- safe 2: one case by a dummy
generate d = id == 17
regress wage d
* ---- review 1: one case by a quantile model
qreg wage, quantile(.999)
* ---- safe 3: one case by areg and its effects
areg wage age, absorb(id)
predict u, d
summarize u if id == 17
* ---- safe 3: one case by xtreg and its effects
xtreg wage age, fe
predict u, u
tabstat u, by(id)
* ---- refused 3: one case by dfbeta
regress wage age
dfbeta
list _dfbeta_1
* ---- refused 4: one case by leverage
regress wage age
predict h, hat
summarize h, detail
display r(max)
* ---- refused 2: one case by estat
regress wage age
estat summarize
* ---- refused 2: one case by estat with a prefix
quietly regress wage age
capture noisily estat su
* ---- refused 1: one case by misstable
misstable summarize wage
* ---- refused 1: one case by misstable by abbreviation
misstable sum
* ---- review 1: one case by mi describe
mi misstable summarize wage
* ---- refused 1: one case by compare
compare wage age
* ---- refused 1: one case by cf
cf wage using other, verbose
* ---- review 2: one case by datasignature
keep if id == 17
datasignature
* ---- review 2: one case by checksum
save one
checksum one.dta
* ---- refused 1: one case by sts list
sts list
* ---- review 1: one case by stsum
stsum, by(id)
* ---- review 1: one case by strate
strate id
* ---- review 1: one case by ltable
ltable wage
* ---- review 1: one case by xttab
xttab wage
* ---- safe 1: one case by xtsum
xtsum wage if id == 17
* ---- safe 1: one case by xtdescribe
xtdescribe, patterns(1000)
* ---- safe 1: one case by tsset
tsset wage
* ---- safe 1: one case by xtset
xtset id wage
* ---- refused 1: one case by tsreport
tsreport, list
* ---- review 1: one case by corrgram
corrgram wage if id == 17
* ---- review 1: one case by cluster
cluster list
* ---- review 2: one case by matrix dissimilarity
matrix dissimilarity D = wage in 1/3
matrix list D
* ---- review 2: one case by a distance in a variable
matrix dissimilarity D = wage
matlist D
* ---- refused 1: log outside the folder
log using ../x.log
* ---- review 1: log in another drive
log using "C:\temp\x.log", replace
* ---- review 1: log at the root
log using /tmp/x.log, text
* ---- refused 1: log at home
log using ~/x.log
* ---- refused 1: log on another computer
log using "\\server\share\x.log"
* ---- review 1: log in an unknown folder
log using "$out/x.log", replace
* ---- review 2: log in a folder by a macro
args folder
log using "`folder'/x.log", replace
* ---- review 1: log by a short name outside the folder
capture noisily lo using "../x.log"
* ---- refused 1: log with a name outside the folder
log using ../x, name(second)
* ---- refused 2: log by a macro outside the folder
local f "../x.log"
log using "`f'"
* ---- refused 1: command log
cmdlog using x.txt
* ---- review 1: log of results in another folder
quietly log using "/media/x.smcl", smcl
* ---- review 1: saved outside the folder
save ../x.dta
* ---- refused 1: exported by an old word
outs wage using x.csv
* ---- refused 1: exported by a long word
export delimited wage using x.csv
* ---- refused 1: exported by a short word
export delim x.csv
* ---- refused 1: exported to a worksheet
export excel using x.xlsx
* ---- refused 1: exported by outfile
outf wage using x
* ---- refused 2: a file that is written
file open f using x.txt, write
file write f "`=wage[17]'"
* ---- refused 2: a file that is written in numbers
file open f using x.txt, write
file write f (wage[17])
* ---- refused 3: a file that is written in a loop
file open f using x.txt, write
forvalues i = 1/`=_N' {
file write f (wage[`i']) _n
}
* ---- refused 2: a file that is written by a macro
local v = wage[17]
file write f "`v'" _n
* ---- refused 1: a file that is written in binary
file write f %8z (wage[17])
* ---- review 1: a file that is written with a name of a variable
file write f (wage)
* ---- refused 1: a file that is written with a variable in a macro
file write f "`=wage'"
* ---- review 2: a file that is written with the text of a label
encode name, generate(code)
file write f "`: label code 17'"
* ---- refused 1: a file that is opened by a name made of a value
file open f using "`=wage[17]'.txt", write
* ---- review 2: a file that is posted
postfile h wage using x
post h (wage[17])
postclose h
* ---- review 4: a file that is posted in a loop
tempname h
postfile `h' id wage using x
forvalues i = 1/`=_N' {
post `h' (id[`i']) (wage[`i'])
}
postclose `h'
* ---- review 2: a file that is posted by a short word
postf h wage using x
post h (wage)
* ---- review 1: a file that is posted with a prefix
quietly post h (wage[17])
* ---- refused 6: a file that is posted to a temporary file
tempfile f
postfile h wage using `f'
post h (wage[17])
postclose h
use `f', clear
list
* ---- review 6: a posted value shown by a mean
tempfile f
postfile h wage using `f'
post h (wage[17])
postclose h
use `f', clear
mean wage
* ---- review 1: a posted value in a frame
frame post f (wage[17])
* ---- refused 3: a value in a frame
frame create f wage
frame post f (wage[17])
frame f: list
* ---- safe 2: a value by frame put
frame put wage if id == 17, into(f)
frame f: summarize wage
* ---- refused 3: a value by frval
frlink m:1 id, frame(f)
generate w = frval(f, wage)
display frval(f, wage, 17)
* ---- refused 1: a value in a document
putdocx text ("`=wage[17]'")
* ---- refused 1: a value in a document by an expression
putdocx text (wage[17])
* ---- review 1: a value in a table of a document
putdocx table t = data("wage")
* ---- refused 1: a value in a table of a document by a list
putdocx table t(1,1) = (wage[17])
* ---- refused 2: a matrix in a document
mkmat wage, matrix(A)
putdocx table t = matrix(A)
* ---- refused 1: a value in a document of pages
putpdf text ("`=wage[17]'")
* ---- refused 1: a value in a worksheet
putexcel A1 = (wage[17])
* ---- refused 2: a matrix in a worksheet
mkmat wage, matrix(A)
putexcel A1 = matrix(A)
* ---- refused 2: a value in a worksheet by a macro
local v = wage[17]
putexcel A1 = "`v'"
* ---- review 1: a picture in a worksheet
putexcel A1 = picture(x.png)
* ---- refused 1: a formula in a worksheet
putexcel A1 = formula("=`=wage[17]'")
* ---- refused 1: names of a worksheet
putexcel set x, sheet("`=wage[17]'")
* ---- refused 1: the file of a worksheet
putexcel set "x`=wage[17]'.xlsx"
* ---- refused 1: etable of records
collect get wage=(wage[17])
* ---- review 1: a collection of values
collect: summarize wage
* ---- review 1: a collection exported
collect export x.html
* ---- refused 1: title of a collection
collect title "`=wage[17]'"
* ---- refused 2: notes of a collection
local v = wage[17]
collect notes "`v'"
* ---- refused 1: label of a collection
collect label dim d "`=wage[17]'"
* ---- refused 1: header of a document
putdocx begin, header(h`=wage[17]')
* ---- refused 1: document with a style of a value
putdocx paragraph, style("`=wage[17]'")
* ---- review 3: document of blocks
putdocx textblock begin
The case earns <<dd_docx_display: wage[17]>>.
putdocx textblock end
* ---- refused 1: document by dyndoc
dyndoc x.txt
* ---- review 2: mata view
mata: st_view(X=., ., "wage")
mata: X
* ---- review 1: mata in a block
mata
st_data(17, "wage")
end
* ---- review 1: mata under a prefix
quietly mata: st_data(17, "wage")
* ---- review 1: mata by an old word
mata : st_local("v", strofreal(st_data(17, "wage")))
display "`v'"
* ---- review 1: putmata
putmata wage
* ---- review 1: python in a line
python: print(1)
* ---- review 1: python script
python script x.py
* ---- refused 1: java
java: 1
* ---- refused 1: shell by a sign
!echo `=wage[17]'
* ---- refused 1: shell under a prefix
quietly shell echo x
* ---- refused 1: shell by a short word
winexec notepad
* ---- safe 2: shell by a macro
local s shell
`s' echo x
* ---- refused 2: plugin
program p, plugin using("x.plugin")
plugin call p wage
* ---- refused 1: ado from the net
net install x
* ---- refused 1: program of one's own folder
adopath ++ "."
* ---- refused 1: folder of programs
sysdir set PLUS "."
* ---- refused 1: safe program dropped
program drop fdzsummarize
* ---- refused 1: safe program dropped with a prefix
capture program drop fdzsummarize
* ---- refused 1: safe program dropped by a short word
cap pr drop fdztabulate
* ---- refused 1: safe program dropped in a list
capture noisily program drop mine fdzregress
* ---- review 1: all programs dropped
discard
* ---- error 1: safe program replaced
program define fdzsummarize
list
end
* ---- error 2: safe program replaced after a drop
capture program drop fdzsummarize
program fdzsummarize
summarize `0'
end
* ---- refused 1: safe program listed
program list fdzparameters
* ---- refused 1: safe program listed with a prefix
capture noisily pr list fdzcheck
* ---- refused 1: safe program looked at
viewsource fdzsummarize.ado
* ---- refused 1: safe program typed
type fdzsummarize.ado
* ---- refused 1: parameters of the centre
fdzparameters
* ---- safe 2: parameters of the centre by a macro
local p fdzparameters
`p'
* ---- refused 1: globals of the centre
display "$FDZ_k"
* ---- refused 1: globals of the centre listed
macro list
* ---- refused 1: critical number of an option
fdzsummarize wage, critical(1)
* ---- refused 1: critical number by an abbreviation
fdzsummarize wage, crit(1)
* ---- refused 1: list by its shortest word
l wage
* ---- refused 1: list with prefixes
capture noisily quietly noisily list wage
* ---- refused 1: list by a condition
if 1 list wage
* ---- refused 2: list in a block
capture {
noisily list wage
}
* ---- refused 2: list in a program
program p
list `0'
end
p wage
* ---- safe 2: list by a macro
local c list
`c' wage
* ---- safe 3: list in parts of a macro
local a li
local b st
`a'`b' wage
* ---- refused 1: list behind an empty macro
`x' list wage
* ---- refused 2: list in a comment that goes on
* a ///
list wage
* ---- refused 1: list behind a comment
/* a */ list wage
* ---- refused 1: list with a comment within
li/**/st wage
* ---- refused 1: list with lines within
li///
st wage
* ---- refused 2: list behind a semicolon
#delimit ;
local a 1; list wage;
* ---- safe 2: list in a text that is run
local c "list wage"
`c'
* ---- safe 1: list in an evaluated macro
`=char(108) + "ist wage"'
* ---- refused 1: list by for
for any wage: list X
* ---- refused 1: list by for with a word
for any list: X wage
* ---- safe 2: list by foreach
foreach c in list {
`c' wage
}
* ---- safe 2: list by tokenize
tokenize list wage
`1' `2'
* ---- safe 2: list by a global
global c list
$c wage
* ---- safe 2: list by a global in braces
global c li
${c}st wage
* ---- safe 3: list by a nested macro
local c1 list
local i 1
`c`i'' wage
* ---- refused 1: list behind a colon
version 14: list wage
* ---- refused 1: list by a frame
frame default: list wage
* ---- refused 2: list by a frame in a block
frame default {
list wage
}
* ---- refused 1: list by a file
do x.txt
* ---- review 1: list by a file of a value
file open f using x.do, write
file write f "list wage"
file close f
do x.do
* ---- review 4: list by a program of a value
local p "program p"
`p'
list wage
end
* ---- refused 1: list by an ado
run mine.ado
* ---- refused 1: list by capture with a label
capture noisily : list wage
* ---- refused 1: list by a prefix that is not there
nosuch: list wage
* ---- refused 1: list by timer
timeit 1: list wage
* ---- refused 1: browse
br wage
* ---- refused 1: edit
ed wage
* ---- refused 1: display of a variable
display wage
* ---- refused 1: display of a variable in quotes
display "`=wage'"
* ---- refused 1: display by a short word
di wage
* ---- refused 1: display under by
by id: di wage
* ---- refused 1: display of a lag
display L.wage
* ---- refused 1: display of a value label
display "`: label (sex) `=sex[17]''"
* ---- refused 1: display of a text function
display substr(name[17], 1, 3)
* ---- refused 1: display of a variable in a function
display string(wage)
* ---- refused 1: display of a comparison
display wage[17] > 5000
* ---- refused 1: display of a comparison of a variable
display wage > 5000
* ---- refused 1: display of a condition
display cond(wage[17] > 5000, 1, 0)
* ---- refused 1: display with a macro function
display "`:display wage[17]'"
* ---- refused 3: display of a word
local v = name[17]
local w : word 1 of `v'
display "`w'"
* ---- review 3: display of a length
local v = name[17]
local n : length local v
display `n'
* ---- refused 1: display of a length on the spot
display length("`=name[17]'")
* ---- review 3: display of a count of words
local v = name[17]
local n : word count `v'
display `n'
* ---- refused 3: display of a piece
local v = name[17]
local p : piece 1 10 of "`v'"
display "`p'"
* ---- refused 3: display of a part
local v = wage[17]
local p = substr("`v'", 1, 1)
display "`p'"
* ---- refused 3: display of a changed part
local v = wage[17]
local p : subinstr local v "1" "2"
display "`p'"
* ---- refused 3: display of a comparison of macros
local v = wage[17]
local p = "`v'" == "5000"
display `p'
* ---- refused 4: display of a comparison of lists
local v = wage[17]
local w 5000
local p : list v == w
display `p'
* ---- refused 4: display of a place in a list
local v = wage[17]
local w 1 2 3 4 5000
local p : list posof "`v'" in w
display `p'
* ---- review 1: display of a number of macros
local v`=wage[17]' 1
display "`v5000'"
* ---- refused 3: display of a macro named by a value
local v = wage[17]
local x5000 yes
display "`x`v''"
* ---- review 3: display of a macro in a macro
local a = wage[17]
local b a
display "``b''"
* ---- refused 2: display of an increment
local v = wage[17]
display `++v'
* ---- refused 3: display of a scalar by a macro
scalar s = wage[17]
local n s
display `n'
* ---- refused 2: display of a matrix element
matrix A = J(1, 1, wage[17])
display A[1,1]
* ---- refused 2: display of a trace
matrix A = J(1, 1, wage[17])
display trace(A)
* ---- refused 2: display of a determinant
matrix A = J(1, 1, wage[17])
display det(A)
* ---- refused 2: display of el
matrix A = J(1, 1, wage[17])
display el(A, 1, 1)
* ---- refused 3: display of a matrix made in steps
matrix A = J(1, 1, 0)
matrix A[1, 1] = wage[17]
display A[1,1]
* ---- refused 2: display of rows of a matrix
matrix A = J(wage[17], 1, 0)
display rowsof(A)
* ---- refused 2: display of colsof
matrix A = J(1, wage[17], 0)
display colsof(A)
* ---- refused 2: display of a sorted maximum
gsort -wage
display wage[1]
* ---- safe 2: display of a coefficient of a dummy
generate d = id == 17
quietly regress wage d
display _b[d] + _b[_cons]
* ---- refused 3: display of a predicted value
quietly regress wage i.id
predict p
display p[17]
* ---- review 2: display of a count that decides
forvalues i = 1/100 {
quietly count if wage > `i' * 100
if r(N) == 0 {
display `i'
}
}
* ---- review 1: display of a count up to a value
count if _n <= wage[17]
* ---- review 1: display of a count by a comparison of records
count if wage > wage[17]
* ---- review 2: display of a sum up to a value
generate n = _n <= wage[17]
total n
* ---- review 1: display of a number of observations
drop in 1/`=wage[17]'
display _N
* ---- review 1: display of a number of observations kept
keep if _n <= wage[17]
count
* ---- review 2: display of a number of observations by expand
keep in 1
expand wage
count
* ---- refused 2: display of a number of observations by set obs
local v = wage[17]
set obs `v'
* ---- review 4: display of a number of variables
forvalues i = 1/`=age[17]' {
generate v`i' = .
}
describe, short
* ---- review 1: display of a number of digits
format wage %`=age[17]'.0f
describe wage
* ---- refused 2: display of a format
local v = wage[17]
display %`v'.0f 1
* ---- refused 1: display of columns
display _col(`=wage[17]') "x"
* ---- refused 1: display of dup
display _dup(wage[17]) "x"
* ---- refused 1: display of a newline
display _newline(wage[17])
* ---- refused 1: display of a random number
set seed `=wage[17]'
display runiform()
* ---- refused 1: display of a date
display %td birth[17]
* ---- refused 1: type of a file
type other.csv
* ---- refused 1: view of a file
view other.csv
* ---- review 1: checksum of a file
checksum other.csv
* ---- refused 1: trace
set trace on
* ---- refused 1: trace with a prefix
quietly set tr on
* ---- refused 2: results listed
summarize wage
return list
* ---- refused 2: results listed by abbreviation
summarize wage
ret li
* ---- refused 2: scalars listed
scalar s = wage[17]
scalar list
* ---- refused 2: scalars listed by abbreviation
scalar s = wage[17]
sca l
* ---- refused 2: matrices listed
mkmat wage, matrix(A)
mat l A
* ---- refused 2: macros listed
local v = wage[17]
mac li
* ---- review 1: estimates listed
ereturn list
* ---- refused 1: constants listed
creturn list
* ---- refused 1: copied data
copy x.dta y.dta
* ---- refused 1: data from the web
webuse auto
* ---- refused 1: database
odbc load, table("x")
* ---- refused 1: zipped
zipfile x.dta, saving(x.zip)
* ---- refused 1: sent
sendmail x
* ---- review 3: argument that names a variable
program p
args v
display `v'
end
p wage
* ---- review 5: argument that is an expression
program p
syntax =exp
display `exp'
end
p =wage[17]
* ---- review 4: argument that is a value
program p
display "`1'"
end
p `=wage[17]'
* ---- review 1: argument of a value by a file
do next.do `=wage[17]'
* ---- review 5: options of a program
program p
syntax, top(real)
display `top'
end
p, top(`=wage[17]')
* ---- refused 2: macro function in short
loc v : di wage[17]
di "`v'"
* ---- refused 2: global in short
gl v = wage[17]
di "${v}"
* ---- refused 2: each record in a loop
forvalues i = 1/`=_N' {
di wage[`i']
}
* ---- refused 2: a variable of a list
foreach v of varlist wage {
di `v'[17]
}
* ---- refused 2: a place in a macro
local i 17
di wage[`i']
* ---- refused 1: a comment before a value
di /* a */ wage[17]
* ---- refused 1: a line before a value
di ///
wage[17]
* ---- refused 1: compound quotes
di `"`=wage[17]'"'
* ---- refused 2: scalar on the spot
scalar s = wage[17]
di "`=scalar(s)'"
* ---- refused 2: largest value by meanonly
summarize wage, meanonly
di r(max)
* ---- review 2: largest value by collapse
collapse (max) wage
summarize wage
* ---- review 2: largest value by gcollapse
gcollapse (max) wage
summarize wage
* ---- review 2: largest value by fcollapse
fcollapse (max) wage
summarize wage
* ---- review 2: largest value by collapse in short
collapse (count) n=id (max) m=wage, by(sex)
tabstat m, by(sex)
* ---- review 2: largest value by gegen
gegen m = max(wage)
summarize m
* ---- review 2: largest value by fegen
fegen m = max(wage)
summarize m
* ---- review 2: largest value by rangestat
rangestat (max) wage, interval(id . .)
summarize wage_max
* ---- review 3: largest value by a group of all
generate one = 1
bysort one (wage): generate m = wage[_N]
summarize m
* ---- review 4: smallest value by a group of all
generate one = 1
sort one wage
by one: generate m = wage[1]
summarize m
* ---- review 1: text of a file
display fileread("other.csv")
* ---- review 1: text of a file in a scalar
scalar s = fileread("other.csv")
display s
* ---- review 1: text of a file in a macro
local s = fileread("other.csv")
display "`s'"
* ---- review 1: text of a file in a variable
generate strL s = fileread("other.csv")
* ---- review 1: records into a file by a function
generate b = filewrite("out.txt", name)
* ---- review 1: records into a file by a function on the spot
local b = filewrite("out.txt", string(wage[17]))
* ---- review 1: records into a file by a function of a loop
replace b = filewrite("out.txt", name, 2) if id == 17
* ---- review 2: lines of a file
file open h using other.csv, read
file read h line
display "`line'"
* ---- review 1: a coefficient with a value in it
nl (age = {a} * wage[17])
* ---- refused 1: repetitions as many as a value
bootstrap, reps(`=wage[17]'): regress wage age
* ---- refused 2: repetitions as many as a macro
local v = wage[17]
simulate m=r(mean), reps(`v'): summarize wage
* ---- refused 1: seed of a prefix
bootstrap, seed(`=wage[17]'): regress wage age
* ---- review 2: title of a table of estimates
local v = wage[17]
estimates table, title("`v'")
* ---- review 1: level of an interval
regress wage age, level(`=wage[17]')
* ---- refused 1: level of an interval by set
set level `=wage[17]'
* ---- review 2: margins at the largest
regress wage age
margins, at((max) age)
* ---- review 2: margins at a centile
regress wage age
margins, at((p99) age)
* ---- review 2: margins of one case
regress wage age
margins, over(id)
* ---- refused 2: deciles as a variable
pctile p = wage, nq(10)
display p[9]
* ---- review 2: deciles as results
quietly _pctile wage, nq(10)
display r(r9)
* ---- review 2: covariance of two cases
quietly correlate wage age if inlist(id, 17, 18), covariance
display r(cov_12)
* ---- review 2: variance of two cases
quietly correlate wage age if inlist(id, 17, 18), covariance
display r(Var_1)
* ---- review 2: covariance matrix of two cases
quietly correlate wage age if inlist(id, 17, 18), covariance
matrix list r(C)
* ---- review 2: correlation of two cases
quietly correlate wage age if inlist(id, 17, 18)
display r(rho)
* ---- review 1: size of each group
by id: display _N
* ---- review 1: size of each group in a title
by id: display "case " _n
* ---- review 3: values of one case by a condition on them
levelsof wage if id == 17, local(v)
if `v' > 5000 {
display "more"
}
* ---- review 3: values of one case in a name
levelsof wage if id == 17, local(v)
generate v`v' = 1
describe
* ---- review 4: values by a condition in a loop
levelsof wage, local(l)
foreach i of local l {
if `i' > 5000 {
display "yes"
}
}
* ---- refused 2: a value by a frame
frame create f
frame f: display wage[1]
* ---- refused 2: a value by a frame in a macro
frame f: local v = wage[1]
display "`v'"
* ---- review 3: a matrix by another name
matrix A = wage[17]
matrix rename A B
matrix list B
* ---- review 2: a matrix in a table
matrix A = wage[17]
esttab matrix(A)
* ---- refused 2: a matrix in a text file
matrix A = wage[17]
mat2txt, matrix(A) saving(x)
* ---- refused 2: a matrix as tex
matrix A = wage[17]
outtable using x, mat(A)
* ---- refused 2: a matrix as a table
matrix A = wage[17]
frmttable using x, statmat(A)
* ---- refused 3: a matrix as variables
mkmat wage, matrix(A)
svmat A, names(v)
list v1
* ---- review 3: a temporary variable of one value
tempvar t
generate `t' = wage[17]
summarize `t'
* ---- review 3: a label of a group
egen g = group(name), label
local t : label (g) 17
display "`t'"
* ---- review 2: a label of a group by abbreviation
egen g = group(name), label
display "`: lab (g) 17'"
* ---- review 2: a label in a table of a document
encode name, generate(code)
putdocx text ("`: label code 17'")
* ---- review 5: a label in a matrix
encode name, generate(code)
local t : label code 17
matrix A = (1)
matrix rownames A = "`t'"
matrix list A
* ---- refused 2: a decoded label
decode code, generate(s)
display s[17]
* ---- review 1: graph outside the folder
graph export ../x.png
* ---- review 1: folder changed
cd ..
* ---- refused 2: log closed and opened elsewhere
log close
log using "../../x", replace
* ---- refused 2: log by a macro of parts
local up ".."
log using "`up'/x.log"
* ---- refused 1: log by append
log using "../x.log", append
* ---- review 1: log in text elsewhere
log using "Z:\out\x.txt", text replace
* ---- review 2: estimates saved
regress wage i.id
estimates save x
* ---- review 2: statistics kept by tabstat
tabstat wage, by(id) save
matrix list r(Stat1)
* ---- review 3: totals kept by tabstat
quietly tabstat wage, statistics(max) save
matrix A = r(StatTotal)
matrix list A
* ---- refused 2: table that replaces the data
table id, replace
list
* ---- review 2: times kept
tsset wage
display r(tmin)
* ---- review 2: times kept by xtset
xtset id wage
display r(tmax)
* ---- review 2: ranges of indicators
xi i.wage
ds _I*
* ---- review 1: a condition by an old prefix
by id: if wage[17] > 5000 display 1
* ---- review 1: a condition under capture
capture if wage[17] > 5000 display 1
* ---- review 6: a condition in a condition
if 1 {
if wage[17] > 5000 {
local t 1
}
}
display `t'
* ---- review 4: an else of a condition
if wage[17] > 5000 {
}
else {
display "less"
}
* ---- review 6: an else of an else
if wage[17] > 5000 {
}
else if age[17] > 50 {
}
else {
tabulate sex
}
* ---- review 7: an else of a condition that sets a text
local t "more"
if wage[17] > 5000 {
}
else {
local t "less"
}
display "`t'"
* ---- review 4: a condition that ends a loop
local i 0
while 1 {
local i = `i' + 1
if `i' > wage[17] continue, break
}
display `i'
* ---- review 2: a condition that ends a program
program p
if wage[17] > 5000 exit
display "less"
end
p
* ---- review 1: a condition that runs a file
if wage[17] > 5000 do next.do
* ---- refused 2: a condition that quiets
local q = cond(wage[17] > 5000, "quietly", "")
`q' tabulate sex
* ---- refused 2: a condition that comments
local q = cond(wage[17] > 5000, "*", "")
`q' tabulate sex
* ---- review 2: a condition that chooses a variable
local q = cond(wage[17] > 5000, "sex", "age")
tabulate `q'
* ---- review 2: a condition that chooses an option
local q = cond(wage[17] > 5000, "missing", "")
tabulate sex, `q'
* ---- review 2: a condition that chooses records
local q = cond(wage[17] > 5000, "if sex == 1", "")
regress wage age `q'
* ---- review 2: a condition that chooses a scalar
scalar q = wage[17] > 5000
regress wage age if sex == q
* ---- review 1: a condition that chooses a sort
generate z = cond(wage[17] > 5000, age, -age)
sort z
* ---- review 3: a caught comparison
capture assert wage[17] == 5000
local found = !_rc
display `found'
* ---- review 1: a caught comparison in a name
capture assert wage[17] > 5000
generate r`=_rc' = 1
* ---- review 2: a caught comparison in a title
capture assert wage[17] > 5000
graph bar age, title("`=_rc'")
* ---- review 9: a caught comparison in a loop
local lo 0
local hi 10000
while `hi' - `lo' > 1 {
local mid = (`lo' + `hi') / 2
capture assert wage[17] > `mid'
if _rc local hi = `mid'
else local lo = `mid'
}
display `lo'
* ---- review 8: a comparison by cond in a loop
local lo 0
local hi 10000
while `hi' - `lo' > 1 {
local mid = (`lo' + `hi') / 2
if wage[17] > `mid' local lo = `mid'
else local hi = `mid'
}
display `lo'
* ---- review 5: a comparison by a count in a loop
local lo 0
local hi 10000
while `hi' - `lo' > 1 {
local mid = (`lo' + `hi') / 2
quietly count if wage > `mid'
if r(N) > 0 local lo = `mid'
else local hi = `mid'
}
display `lo'
* ---- review 9: a comparison of a largest in a loop
quietly summarize wage
local lo 0
local hi 10000
while `hi' - `lo' > 1 {
local mid = (`lo' + `hi') / 2
if r(max) > `mid' local lo = `mid'
else local hi = `mid'
}
display `lo'
* ---- review 2: a comparison by a set of values
forvalues i = 1/10000 {
quietly count if inrange(wage, `i', .)
if !r(N) continue, break
}
display `i'
* ---- review 4: a comparison of a text
forvalues i = 1/26 {
if substr(name[17], 1, 1) == char(64 + `i') local found `i'
}
display `found'
* ---- refused 2: a comparison by strpos
local found = strpos("ABCDEFGHIJ", substr(name[17], 1, 1))
display `found'
* ---- refused 3: a comparison by a list
local names "Adams Baker"
local found : list posof "`=name[17]'" in names
display `found'
* ---- review 3: a comparison by a confirmed name
generate v5000 = 1
capture confirm variable v`=wage[17]'
display _rc
* ---- review 2: a comparison by a file that is there
capture confirm file "f`=wage[17]'.txt"
if _rc display "no"
* ---- review 2: a comparison by the length of a loop
foreach i of numlist 1/`=wage[17]' {
quietly summarize age
}
* ---- refused 2: a comparison by a number list
numlist "1/`=wage[17]'"
display "`r(numlist)'"
* ---- refused 2: a comparison by a matrix of that size
matrix A = J(1, `=wage[17]', 0)
display colsof(A)
* ---- review 2: a comparison by an error of a matrix
capture matrix A = J(wage[17] - 5000, 1, 0)
display _rc
* ---- review 2: a comparison by an error of a number
capture numlist "1/`=wage[17]'", max(5000)
display _rc
* ---- review 4: a loop whose head counts up to a record
local i 0
while wage[17] > `++i' * 1000 {
}
display `i'
* ---- review 3: names of separated variables
separate age, by(wage)
foreach v of varlist age* {
display "`v'"
}
* ---- review 3: letters of names of separated variables
separate age, by(wage)
foreach v of varlist age* {
display substr("`v'", 4, .)
}
* ---- review 4: names of variables by reshape in a loop
keep id age wage
reshape wide age, i(id) j(wage)
foreach v of varlist age* {
display strlen("`v'")
}
* ---- review 3: a macro whose name is a value
local x = wage[17]
local `x' 5
display "`5000'"
* ---- review 3: a value that encodes missing
forvalues i = 5000/5100 {
capture mvencode wage, mv(`i')
if _rc display `i'
}
* ---- review 3: a collapse without records
keep if wage > 5000 & id == 17
capture collapse (mean) wage
display _rc
* ---- review 2: a text made as often as a value
capture generate z = "a" * (1000000 + wage - 5000)
display _rc
* ---- review 2: a text that is no number
capture destring name, replace
display _rc
* ---- review 1: list by a file named like a rewritten one
file open f using x_FiRe.do, write
file write f "list wage"
file close f
do x.do
* ---- review 1: list by a program that is written
file open f using p.ado, write
file write f "program p" _n "list wage" _n "end"
file close f
p
* ---- review 3: a temporary file by another name
tempfile f
local f "out.dta"
save `f'
* ---- review 2: a file beside a temporary one
tempfile f
save "`f'_2"
* ---- review 3: a temporary file that an argument names
tempfile f
args f
save `f'
* ---- review 3: a temporary file of an included program
tempfile f
include other.do
save `f'
* ---- review 3: a temporary file that a loop names
tempfile f
foreach f in out {
save `f'
}
* ---- review 1: a text of a document by an unknown macro
putdocx text ("`x'")
* ---- refused 2: a place in a worksheet by a value
local v = wage[17]
putexcel A`v' = "x"
* ---- refused 2: a place in a table by a value
local v = wage[17]
putdocx table t(1,`v') = ("x")
* ---- review 3: a text that a condition decides
if wage[17] > 5000 {
local t "more"
putdocx text ("x")
}
* ---- review 1: a picture in a document
putdocx image x.png
* ---- review 1: data in a document
putdocx table t = data(wage)
* ---- review 1: a file that is read
file open f using other.csv, read
* ---- review 1: a file that is read and written
file open f using other.csv, read write
* ---- review 2: a posted record in a temporary file
tempfile f
post h (wage[17])
* ---- review 2: a posted variable in a temporary file
tempfile f
post h (wage)
* ---- review 2: a posted macro that may name a variable
foreach v in wage {
post h (`v')
}
* ---- review 1: a posted result of which nothing is known
post h (r(top))
* ---- review 1: a matrix in a table of models
esttab matrix(A)
* ---- review 1: results in a table of models
esttab r(table)
* ---- review 1: a table of models by a macro
esttab `models'
* ---- review 3: a condition in a text
local c "wage[17] > 5000"
if `c' {
display "more"
}
* ---- review 2: a condition in a global
global c "wage[17] > 5000"
if $c display "more"
* ---- review 2: a condition in a text that counts
local c "wage > wage[17]"
count if `c'
* ---- review 2: a condition in a list of texts
foreach c in "wage[17] > 5000" {
if `c' display "more"
}
* ---- refused 2: a value in a text
local c "wage[17]"
display `c'
* ---- review 3: a test in a text
local e "assert wage[17] > 5000"
capture `e'
display _rc
* ---- review 5: a test in a program
program p
assert wage[17] > 5000
end
capture p
display _rc
* ---- review 5: a test of all records in a program
program p
assert wage < `1'
end
capture p 5000
display _rc
* ---- review 2: a test in another file
capture do test.do
if _rc display "less"
* ---- review 2: a test by a user's command
capture mytest wage
display _rc
* ---- review 2: a test within quietly
quietly capture assert wage[17] > 5000
display _rc
* ---- review 2: a test behind a colon
capture: assert wage[17] > 5000
display _rc
* ---- review 6: a test in nested blocks
capture {
quietly {
assert wage[17] > 5000
}
}
display _rc
* ---- review 2: a record under by
generate one = 1
by one: keep if wage > wage[17]
* ---- review 2: a record of a group of all
generate one = 1
bysort one (wage): generate d = wage - wage[_N]
* ---- review 2: a record of a group of all by egen
generate byte one = 1
bysort one: replace wage = wage[17]
* ---- review 1: a far record of each group
bysort sex: generate d = wage - wage[17]
* ---- review 3: the mean of one case for all
generate d = wage if id == 17
egen m = mean(d)
summarize m
* ---- review 2: the sum of one case for all
egen m = total(wage * (id == 17))
tabstat m
* ---- review 3: the median of one case for all
generate d = wage if id == 17
egen m = median(d)
summarize m
* ---- review 2: a count by a scalar
scalar v = wage[17]
count if wage > v
* ---- review 2: a count by a matrix
matrix A = wage[17]
count if wage > A[1,1]
* ---- review 2: a count by a matrix of records
mkmat wage, matrix(A)
count if age > A[17,1]
* ---- review 2: a posted scalar of another language
mata: st_numscalar("s", 1)
post h (scalar(s))
* ---- review 1: a posted element of another language
post h (A[1,1])
* ---- review 1: a posted first value
post h (wage)
* ---- review 2: a posted macro of a value
local v = wage[17]
post h (`v')
* ---- review 1: a posted global
post h ($v)
* ---- review 4: a temporary file that another macro names
tempfile f
local x f
local `x' "out.dta"
save `f'
* ---- review 2: a temporary file that is logged
tempfile f
log using "`f'"
* ---- refused 2: a temporary file that is run
tempfile f
do `f'
* ---- refused 2: a temporary file that is typed
tempfile f
type `f'
* ---- refused 2: a temporary file that is exported
tempfile f
export delimited using `f'
* ---- refused 2: a temporary file that is copied
tempfile f
copy `f' out.dta
* ---- review 1: a document in a folder above
putdocx save ../x.docx
* ---- review 1: a worksheet at home
putexcel set "~/x.xlsx"
* ---- review 1: a worksheet on another computer
putexcel set "\\server\x.xlsx"
* ---- review 1: a text file without an end
file open f using x, write
* ---- review 1: a text file in a folder above
file open f using ../x.txt, write
* ---- review 1: a text file in binary
file open f using x.txt, write binary
* ---- review 1: a program in a text file
file open f using x.do, write replace
* ---- review 1: a text by a global
file write f "$x"
* ---- review 1: a text by a nested macro
file write f "``x''"
* ---- review 1: a text by an expression
file write f "`=1+1'"
* ---- review 1: a text by a macro function
file write f "`: word 1 of `x''"
* ---- review 1: a text in brackets
file write f ("x")
* ---- review 1: a cell by a function
putexcel A1 = formula("=B1")
* ---- review 1: a cell by a result
putexcel A1 = rscalars
* ---- review 1: a cell by a matrix of results
putexcel A1 = matrix(e(b))
* ---- review 1: a cell by names of results
putexcel A1 = etable
* ---- review 1: a table by e()
esttab e(b)
* ---- review 1: a table by a file
esttab m1 using x.csv
* ---- review 1: a table by a short word
esttab m1 us x.csv
* ---- refused 2: a table of extremes in the log
estpost summarize wage
esttab, cells("min max")
* ---- review 2: a table of statistics in the log
regress wage age
estadd summ
esttab, cells("b ymax")
* ---- review 2: a loop that ends with an error
forvalues i = 1/100 {
assert wage[17] != `i'
}
* ---- review 2: a loop that ends by a bound in brackets
forvalues i = 1/100 {
assert (wage < (`i' * 100))
}
* ---- review 2: a loop that ends by a bound before
forvalues i = 1/100 {
count if `i' * 100 > wage
}
* ---- review 2: a loop that ends by a between
forvalues i = 1/100 {
count if inrange(wage, `i', `i' + 1)
}
* ---- review 4: a loop with a bound in a scalar
forvalues i = 1/100 {
scalar b = `i' * 100
quietly count if wage > scalar(b)
if r(N) == 0 display `i'
}
* ---- review 5: a loop with a bound in a variable
generate b = 0
forvalues i = 1/100 {
quietly replace b = `i' * 100
quietly count if wage > b
if r(N) == 0 display `i'
}
* ---- review 4: a loop with a bound in another macro
forvalues i = 1/100 {
local b = `i' * 100
quietly count if wage > `b'
if r(N) == 0 display `i'
}
* ---- review 4: a loop with a bound in a global
forvalues i = 1/100 {
global b = `i' * 100
quietly count if wage > $b
if r(N) == 0 display `i'
}
* ---- review 3: a loop over equal values
forvalues i = 1/100 {
quietly count if wage == `i'
if r(N) display `i'
}
* ---- review 3: a loop with a list of bounds
foreach i of numlist 1000(1000)9000 {
quietly count if wage >= `i'
if !r(N) display `i'
}
* ---- review 4: a program that halves
program p
args lo hi
local mid = (`lo' + `hi') / 2
quietly count if wage > `mid'
if r(N) p `mid' `hi'
else p `lo' `mid'
end
p 0 10000
* ---- review 3: a loop with a summary
forvalues i = 1/100 {
quietly summarize age if wage > `i' * 100
if r(N) == 0 display `i'
}
* ---- review 4: a loop with a variable
forvalues i = 1/100 {
quietly generate v = wage > `i' * 100
quietly summarize v
if r(max) == 0 display `i'
drop v
}
* ---- review 3: a loop with a largest that is a result
forvalues i = 1/100 {
quietly summarize age if wage > `i' * 100
if r(max) == . display `i'
}
* ---- refused 1: records by gduplicates
gduplicates list wage
* ---- refused 1: examples by gduplicates in short
gduplicates ex wage
* ---- review 1: labels by elabel
elabel list code
* ---- review 1: values of a category by fvexpand
fvexpand i.wage
display "`r(varlist)'"
* ---- review 1: values of a category by a check for collinearity
_rmcoll i.wage, expand
display "`r(varlist)'"
* ---- review 1: one case by ztest
ztest wage == 0 in 17
* ---- review 1: one case by runtest
runtest wage in 17
* ---- review 1: one case by cendif
cendif wage, by(id)
* ---- review 3: estimates put in place of others
regress wage age
matrix A = (wage[17])
erepost b = A
* ---- review 2: results put in place of others
matrix A = (wage[17])
eret2 matrix top = A
* ---- review 2: a matrix by its name only
mkmat wage in 17, matrix(A)
svmat A
* ---- review 1: knots of a spline
mkspline x = wage, cubic displayknots
* ---- review 1: knots of a spline in short
mkspline x 5 = wage, pctile dis
* ---- review 1: any value by findname
findname wage, any(@ > 5000)
* ---- review 1: all values by findname
findname wage, all(@ < 5000)
* ---- review 2: names of dummies by dummies
dummies wage
describe
* ---- review 2: labels from the largest value
nicelabels wage, local(l)
display "`l'"
* ---- refused 3: a characteristic that xi leaves
xi i.wage
local c : char _dta[__xi__Vars__To__Drop__]
display "`c'"
* ---- refused 1: a label of a snapshot
snapshot save, label("`=wage[17]'")
* ---- review 1: words that are searched
search `=wage[17]'
* ---- refused 9: estimates in memory, then records
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
use persons, clear
twoway line b k
* ---- refused 9: estimates joined to records
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
merge 1:1 k using persons
twoway line b k
* ---- refused 9: estimates with records below
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
append using persons
twoway line b k
* ---- refused 9: estimates crossed with records
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
cross using persons
twoway line b k
* ---- refused 9: estimates joined by a key
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
joinby k using persons
twoway line b k
* ---- refused 10: a matrix of records beside estimates
mkmat wage in 1/5, matrix(A)
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
svmat A
twoway line b k
* ---- refused 9: records by an import
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
import delimited persons.csv, clear
twoway line b k
* ---- refused 9: records by old input
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
insheet using persons.csv, clear
twoway line b k
* ---- refused 11: records typed in
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
input k b
1 2
end
twoway line b k
* ---- refused 10: records back by restore
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
preserve
use `f', clear
restore
twoway line b k
* ---- refused 9: records in another frame
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
frame change people
twoway line b k
* ---- refused 12: records by a program of the file
program p
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
p
twoway line b k
* ---- refused 9: records by a do-file
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
do other.do
twoway line b k
* ---- refused 9: records by an included file
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
include other.do
twoway line b k
* ---- refused 9: records by mata
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
mata: x = 1
twoway line b k
* ---- refused 9: records by a command nobody knows
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
nosuch
twoway line b k
* ---- refused 9: records by a macro command
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
`load' persons, clear
twoway line b k
* ---- refused 9: records behind a condition
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
if 1 use persons, clear
twoway line b k
* ---- refused 11: records in a block
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
quietly {
use persons, clear
}
twoway line b k
* ---- refused 9: records caught
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
capture use persons, clear
twoway line b k
* ---- refused 9: records behind an empty macro
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
`x' use persons, clear
twoway line b k
* ---- refused 9: records by a snapshot
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
snapshot restore 1
twoway line b k
* ---- refused 9: records turned over
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
xpose, clear
twoway line b k
* ---- refused 9: records by webuse
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
sysuse auto, clear
twoway line b k
* ---- refused 9: a file that may not be there
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
capture use `f', clear
twoway line b k
* ---- refused 9: a file loaded under a condition
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
if 0 use `f', clear
twoway line b k
* ---- refused 11: a file loaded in a loop
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
forvalues i = 1/0 {
use `f', clear
}
twoway line b k
* ---- refused 8: a part of a file that is loaded
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use k b using `f', clear
twoway line b k
* ---- refused 10: records saved over the estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
save `f', replace
use `f', clear
twoway line b k
* ---- refused 11: records saved over the file in memory
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
merge 1:1 k using persons
save, replace
use `f', clear
twoway line b k
* ---- refused 10: records saved over the estimates by quotes
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
quietly save "`f'", replace
use `f', clear
twoway line b k
* ---- refused 11: records saved by a global
use persons, clear
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
global g "`f'"
save "$g", replace
use `f', clear
twoway line b k
* ---- refused 11: records saved by a macro of a macro
use persons, clear
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
local i f
save "``i''", replace
use `f', clear
twoway line b k
* ---- refused 12: records saved by the name of the file
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
local p = c(filename)
use persons, clear
save "`p'", replace
use `f', clear
twoway line b k
* ---- refused 12: records saved by an old name of the file
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
local p "$S_FN"
use persons, clear
save "`p'", replace
use `f', clear
twoway line b k
* ---- refused 11: records saved by a copy of a macro
use persons, clear
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
local p : copy local f
save "`p'", replace
use `f', clear
twoway line b k
* ---- refused 10: results of groups saved over the estimates
use persons, clear
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
statsby m=r(mean), by(id) saving(`f', replace): summarize wage
use `f', clear
twoway line b k
* ---- refused 10: a program is given the file
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use persons, clear
p `f'
use `f', clear
twoway line b k
* ---- refused 12: a program named like a command that sorts
program sort
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
sort k
twoway line b k
* ---- refused 11: a program named like a plot
program twoway
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
twoway line b k
* ---- refused 10: a record's value in a scalar beside estimates
scalar top = wage[17]
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = top
twoway line y k
* ---- refused 10: a record's value in a macro beside estimates
local v = wage[17]
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = `v'
twoway line y k
* ---- refused 10: a record's value of a matrix beside estimates
mkmat wage, matrix(A)
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = A[1,1]
twoway line y k
* ---- refused 9: a record's value of a frame beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = _frval(people, wage, _n)
twoway line y k
* ---- refused 9: a linked frame's values beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = frval(people, wage)
twoway line y k
* ---- refused 10: a largest value beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
summarize wage
use `f', clear
replace b = r(max)
twoway line b k
* ---- refused 10: a median beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
summarize wage, detail
use `f', clear
replace b = r(p50)
twoway line b k
* ---- refused 9: an unknown macro beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = `x'
twoway line y k
* ---- refused 9: a global beside estimates
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
generate y = $x
twoway line y k
* ---- refused 9: a title with a record's value over estimates
local v = wage[17]
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
twoway line b k, title("`v'")
* ---- refused 9: a line at a record's value over estimates
local v = wage[17]
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
twoway line b k, yline(`v')
* ---- refused 8: a plot of estimates filed with its data
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
twoway line b k, saving(x.gph, replace)
* ---- refused 9: a plot in a loop that comes round with records
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
forvalues i = 1/2 {
twoway line b k
use persons, clear
}
* ---- refused 7: a record posted
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (wage[17])
postclose `h'
use `f', clear
twoway line b k
* ---- refused 7: a first record posted
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (wage)
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: a mean of a group posted
tempname h
tempfile f
postfile `h' k b using `f'
summarize wage if id == 17
post `h' (1) (r(mean))
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: a count of a group posted
tempname h
tempfile f
postfile `h' k b using `f'
count if wage > 5000
post `h' (1) (r(N))
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: an argument posted
tempname h
tempfile f
postfile `h' k b using `f'
args x
post `h' (1) (`x')
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: an option posted
tempname h
tempfile f
postfile `h' k b using `f'
syntax, x(string)
post `h' (1) (`x')
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: a scalar posted beside estimates
scalar top = wage[17]
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (scalar(top))
postclose `h'
use `f', clear
twoway line b k
* ---- refused 7: a text posted
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) ("`=name[17]'")
postclose `h'
use `f', clear
twoway line b k
* ---- refused 10: values of a loop posted
tempname h
tempfile f
postfile `h' k b using `f'
levelsof wage, local(l)
foreach x of local l {
post `h' (`x') (_b[age])
}
postclose `h'
use `f', clear
twoway line b k
* ---- refused 9: a bound of a loop posted
tempname h
tempfile f
postfile `h' k b using `f'
forvalues k = 1/`=wage[17]' {
post `h' (`k') (_b[age])
}
postclose `h'
use `f', clear
twoway line b k
* ---- refused 10: a counter that is given a value
tempname h
tempfile f
postfile `h' k b using `f'
forvalues k = 1/3 {
local k = wage[17]
post `h' (`k') (_b[age])
}
postclose `h'
use `f', clear
twoway line b k
* ---- refused 10: a counter that levels replace
tempname h
tempfile f
postfile `h' k b using `f'
forvalues k = 1/3 {
levelsof wage, local(k)
post `h' (`k') (_b[age])
}
postclose `h'
use `f', clear
twoway line b k
* ---- refused 9: estimates made of records
tempname h
tempfile f
postfile `h' k b using `f'
matrix B = (1, wage[17])
ereturn post B
post `h' (1) (_b[c2])
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: one of two posts of records
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (_b[age])
post g (1) (wage[17])
postclose `h'
use `f', clear
twoway line b k
* ---- refused 8: a do-file that posts
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (_b[age])
do other.do
postclose `h'
use `f', clear
twoway line b k
* ---- refused 7: a posted frame value
tempname h
tempfile f
postfile `h' k b using `f'
post `h' (1) (_frval(people, wage, 17))
postclose `h'
use `f', clear
twoway line b k
* ---- refused 7: a posted file of another macro
tempfile f g
postfile h k b using `f'
post h (1) (_b[age])
postclose h
save `g'
use `g', clear
twoway line b k
* ---- refused 6: a posted file that is a lasting one
local f out.dta
postfile h k b using `f', replace
post h (1) (_b[age])
postclose h
use `f', clear
twoway line b k
* ---- refused 7: a posted file of an argument
args f
tempfile f
postfile h k b using `f'
post h (1) (_b[age])
postclose h
use `f', clear
twoway line b k
* ---- refused 10: records under the plot of estimates, in a program
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
program p
args x
use `f', clear
twoway line b k
end
* ---- refused 12: a program of egen that loads records
program _gpeople
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
egen y = people(b)
twoway line b k
* ---- refused 12: a program by a short name of a plot
program tw
use persons, clear
twoway line wage id
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
tw line b k
* ---- refused 12: a program whose name is a macro
program `p'
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
sort k
twoway line b k
* ---- refused 13: a program after it was dropped
capture program drop sort
capture program define sort
use persons, clear
end
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
sort k
twoway line b k
* ---- refused 9: a file name by Python
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
python: Macro.setLocal(chr(102), 'persons.dta')
use `f', clear
twoway line b k
* ---- refused 9: a file name by c_local
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
c_local f persons.dta
use `f', clear
twoway line b k
* ---- refused 9: a file name by mata
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
mata: st_local(char(102), "persons.dta")
use `f', clear
twoway line b k
* ---- refused 9: estimates by a file of another
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
use "`f'_2", clear
twoway line b k
* ---- refused 10: estimates under a prefix that loads
tempname h
tempfile f
postfile `h' k b using `f'
regress wage age
post `h' (1) (_b[age])
postclose `h'
use `f', clear
frame people: use persons, clear
frame change people
twoway line b k
* ---- review 2: a picture of points as numbers
histogram wage
graph export x.svg, replace
* ---- review 2: a picture by curves
histogram wage
graph export x.pdf, replace
* ---- review 2: a picture in PostScript
histogram wage
graph export x.eps, replace
* ---- review 2: a picture whose option says it holds numbers
histogram wage
graph export x.png, as(svg) replace
* ---- review 2: a picture in a folder above
histogram wage
graph export ../x.png, replace
* ---- review 2: a picture at home
histogram wage
graph export "~/x.png", replace
* ---- review 2: a picture by a macro
histogram wage
graph export "$out/x.png", replace
* ---- review 2: a picture of a graph by a macro
histogram wage
graph export x.png, name(`g')
* ---- review 2: a picture of a graph that lies there
graph display a
graph export x.png, replace
* ---- review 1: a picture of a graph that is loaded
graph use a.gph
graph export x.png, replace
* ---- review 1: a picture before there is a graph
graph export x.png, replace
histogram wage
* ---- review 1: a picture of few
histogram wage if id == 17
graph export x.png, replace
* ---- review 1: coefplot of a matrix in brackets
coefplot (matrix(A[,1]), ci((A[,2] A[,3])))
* ---- review 1: coefplot of other results
coefplot m, b(minima)
* ---- review 1: coefplot with labels from the data
coefplot m, mlabel(name)
* ---- review 1: coefplot with a place from a matrix
coefplot m, at(matrix(A))
* ---- review 1: coefplot with intervals of a matrix
coefplot m, ci(A)
* ---- review 1: coefplot of a model by a macro
coefplot `m'
* ---- review 1: coefplot with an unknown title
coefplot m, title("`x'")
* ---- refused 1: coefplot with a record's value
coefplot m, title("`=wage[17]'")
* ---- review 1: coefplot with a line at a record's value
coefplot m, xline(wage[17])
* ---- review 1: coefplot that saves its data
coefplot m, generate(b)
* ---- review 1: coefplot that saves its graph
coefplot m, saving(x.gph)
* ---- refused 1: coefplot with records under it
coefplot m, addplot(scatter wage age)
* ---- review 3: names made of values, 1: describe
use persons, clear
reshape wide wage, i(k) j(name)
describe
* ---- review 5: names made of values, 2: save made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
save made
use made, clear
describe
* ---- review 5: names made of values, 3: save "made.dta", replace / use MADE, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
save "made.dta", replace
use MADE, clear
describe
* ---- review 5: names made of values, 4: save `x' / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
save `x'
use made, clear
describe
* ---- review 5: names made of values, 5: save $x/`y' / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
save $x/`y'
use made, clear
describe
* ---- review 5: names made of values, 6: use orig, clear / merge 1:1 k using made / describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
merge 1:1 k using made
describe
* ---- review 5: names made of values, 7: use orig, clear / append using made / describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
append using made
describe
* ---- review 4: names made of values, 8: use orig, clear / describe using made
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
describe using made
* ---- review 5: names made of values, 9: use orig, clear / generate v`i' = 1 / describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
generate v`i' = 1
describe
* ---- review 5: names made of values, 10: use orig, clear / rename a b`i' / describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
rename a b`i'
describe
* ---- review 5: names made of values, 11: use orig, clear / label variable a "`: label k 1'" / describ
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
label variable a "`: label k 1'"
describe
* ---- review 4: names made of values, 12: capture use orig, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
capture use orig, clear
describe
* ---- review 4: names made of values, 13: if 0 use orig, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
if 0 use orig, clear
describe
* ---- review 4: names made of values, 14: use `made', clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
use `made', clear
describe
* ---- review 5: names made of values, 15: nosuch made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
nosuch made
use made, clear
describe
* ---- review 5: names made of values, 16: mata: x() / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
mata: x()
use made, clear
describe
* ---- review 5: names made of values, 17: `c' made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
`c' made
use made, clear
describe
* ---- review 5: names made of values, 18: frame x: save made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
frame x: save made
use made, clear
describe
* ---- review 6: names made of values, 19: preserve / use orig, clear / restore / describe
use persons, clear
reshape wide wage, i(k) j(name)
preserve
use orig, clear
restore
describe
* ---- review 5: names made of values, 20: sa made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
sa made
use made, clear
describe
* ---- review 5: names made of values, 21: use orig, clear / foreach v in a { / describe / use made, cl
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
foreach v in a {
describe
use made, clear
}
* ---- review 5: names made of values, 22: iesave made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
iesave made
use made, clear
describe
* ---- review 5: names made of values, 23: quietly saveold made / use made, clear / ds
use persons, clear
reshape wide wage, i(k) j(name)
quietly saveold made
use made, clear
ds
* ---- review 5: names made of values, 24: statsby m=r(mean), by(g) saving(made): summarize wage / use
use persons, clear
reshape wide wage, i(k) j(name)
statsby m=r(mean), by(g) saving(made): summarize wage
use made, clear
describe
* ---- review 5: names made of values, 25: mi export ice made / use made, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
mi export ice made
use made, clear
describe
* ---- review 5: names made of values, 26: use orig, clear / frame change x / describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
frame change x
describe
* ---- review 4: names made of values, 27: use orig, clear / bysort a: describe
use persons, clear
reshape wide wage, i(k) j(name)
use orig, clear
bysort a: describe
* ---- review 5: names made of values, 28: save, replace / use orig, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
save, replace
use orig, clear
describe
* ---- review 5: names made of values, 29: quietly save , replace / use orig, clear / describe
use persons, clear
reshape wide wage, i(k) j(name)
quietly save , replace
use orig, clear
describe
* ---- review 3: a picture of what another command drew
graph bar wage
cusum9 wage year
graph export x.png, replace
* ---- review 3: a picture of what another command drew behind a condition
graph bar wage
if 1 cusum9 wage year
graph export x.png, replace
* ---- review 4: a picture in a loop that comes round with another graph
graph bar wage
forvalues i = 1/2 {
display 1
graph export x.png, replace
cusum9 wage year
}
* ---- review 3: a picture of a graph that was brought back
graph bar wage
graph display old
graph export x.png, replace
* ---- review 3: a picture of graphs put together
graph bar wage
graph combine old older
graph export x.png, replace
* ---- review 3: a picture after a macro command
graph bar wage
`draw' wage
graph export x.png, replace
* ---- review 3: a picture after a do-file
graph bar wage
do other.do
graph export x.png, replace
* ---- review 6: a picture after a program of the file
program p
cusum9 wage year
end
graph bar wage
p
graph export x.png, replace
* ---- review 1: a mean held against one value
ttest hours == wage[17]
* ---- review 2: a mean held against the largest value, in pairs
egen m = max(wage)
ttest hours == m
* ---- review 3: a mean held against a stored maximum
summarize wage
local m = r(max)
ttest hours == `m'
* ---- review 2: an interval at the level of a value
local l = wage[17]
ttest hours == 5, level(`l')
* ---- safe 2: one case that is all a variable has
generate z = wage if id == 17
ttest z == 0
* ---- safe 1: one case against all others
ttest wage, by(one)
* ---- review 8: one record, saved and merged to all
generate one = 1
preserve
keep if id == 17
keep one wage
rename wage w1
save x, replace
restore
merge m:1 one using x, nogenerate
* ---- review 7: one record, joined with all
preserve
keep in 17
keep region wage
tempfile x
save "`x'"
restore
joinby region using `x'
* ---- review 4: one record, crossed with all
use wage id if id == 17 using persons, clear
save $d/one.dta, replace
use persons, clear
cross using "$d/one"
* ---- review 1: several variables of a person as several records
stack wage2001 wage2002 wage2003, into(wage) clear
summarize wage
* ---- review 5: means of one record, merged again
preserve
collapse (mean) m = wage if id == 17, by(region)
save x
restore
merge m:1 region using x.dta, nogenerate
* ---- review 10: one record, saved twice and merged to all
preserve
keep if id == 17
tempfile t
save `t'
use `t', clear
tempfile u
save `u'
restore
generate one = 1
merge m:1 one using `u'
* ---- review 2: a table by ACRO, whose minimum is its own
acro init
acro table region sex, contents(max wage)
* ---- review 2: a file of values among the outputs of ACRO
acro init
acro custom_output values.txt "readme"
* ---- review 1: a value in a comment on an output of ACRO
acro add_comments output_0 "`=wage[17]'"
* ---- review 3: one value, carried to all that miss it
generate p = wage if id == 17
replace p = p[_n-1] if missing(p)
summarize p
* ---- review 4: one value, carried within a group of all
generate one = 1
generate p = wage if id == 17
bysort one (p): replace p = p[_n-1] if p >= .
summarize p
* ---- review 2: one value in a running sum
generate s = sum(wage * (id == 17))
summarize s, detail
* ---- review 4: one value in a running sum of a variable
generate p = cond(id == 17, wage, 0)
generate s = 0
replace s = sum(p)
tabstat s, statistics(median)
* ---- review 3: the total of one record within a group of all
generate one = 1
egen s = total(wage * (id == 17)), by(one)
summarize s
* ---- review 2: the largest value in all gaps
fillmissing wage, with(max)
summarize wage
* ---- review 3: one value carried forward by a user command
generate p = wage if id == 17
carryforward p, generate(q)
summarize q
* ---- review 2: all values cut to the largest
winsor2 wage, cuts(100 100)
summarize wage_w
* ---- review 2: all values cut to the smallest, with a suffix
winsor2 wage, suffix(_low) cuts(0 0)
summarize wage_low
* ---- review 2: largest values of a window
asrol wage, stat(max) generate(top)
summarize top
* ---- review 2: largest values among other statistics of a window
asrol wage, stat(mean max)
summarize max_wage
* ---- review 1: a record of a frame by its number
generate w = _frval(persons, wage, 17)
* ---- review 3: the margin of one record
generate one = id == 17
regress wage age
margins, subpop(one)
* ---- review 5: one record, joined by a range
preserve
keep if id == 17
save x
restore
rangejoin age 0 100 using x
