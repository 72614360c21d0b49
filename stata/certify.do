* certify.do: run by a centre in Stata before these commands are used
* NOT YET RUN IN STATA. It stops with an error at the first rule that does not hold.
* Uses only data that it makes itself; needs fdz_parameters.txt with minimum 3, cases 3, df 10, k 85,
* and fdz_policy.txt, made by: discreet fire policy --out fdz_policy.txt
version 14
clear all
set more off
adopath ++ "."

capture log close certify
local seen "certify_output.log"

* Whether the log shows a text: absent(1) asserts that it does not, absent(0) that it does.
program fdz_holds
    version 14
    syntax , file(string) text(string) absent(integer)
    tempname log
    local found 0
    file open `log' using "`file'", read text
    file read `log' line
    while r(eof) == 0 {
        if strpos(`"`line'"', "`text'") > 0 {
            local found 1
        }
        file read `log' line
    }
    file close `log'
    assert `found' == 1 - `absent'
end

* --- summarize: few cases, all the same, percentiles at 299 and 300 cases -------------------
set obs 300
generate x = _n
generate two = _n in 1/2
generate same = 7777
quietly log using "`seen'", text replace name(certify)
fdzsummarize x two same, detail
assert r(N) == 300
assert r(min) == 1 & r(max) == 300
quietly log close certify
* Two cases with the mean 1.5, and 300 times the same value
fdz_holds, file("`seen'") text("1.5") absent(1)
fdz_holds, file("`seen'") text("7777") absent(1)
* 300 cases: the first percentile has three cases beyond it
fdz_holds, file("`seen'") text("1% |                    3.5") absent(0)

quietly log using "`seen'", text replace name(certify)
fdzsummarize x in 1/299, detail
quietly log close certify
* 299 cases: too few for the first percentile
fdz_holds, file("`seen'") text("1% |                      .") absent(0)

* --- dominance: three firms with 25,000, 400,000 and 35,000 ---------------------------------
clear
set obs 3
generate turnover = 25000 in 1
replace turnover = 400000 in 2
replace turnover = 35000 in 3
quietly log using "`seen'", text replace name(certify)
fdzsummarize turnover
quietly log close certify
fdz_holds, file("`seen'") text("153333") absent(1)

* --- critical(): stricter than the rule at once, weaker only down to the line critical ---------------
* Two of four firms have 84 % (k 85 is kept, p is 25 %), and 91 % (p is 15 %)
clear
set obs 4
generate even = cond(_n == 1, 100, cond(_n == 2, 30, cond(_n == 3, 13, 12)))
generate uneven = cond(_n == 1, 100, cond(_n == 2, 60, cond(_n == 3, 10, 5)))
quietly log using "`seen'", text replace name(certify)
fdzsummarize even
quietly log close certify
fdz_holds, file("`seen'") text("38.75") absent(0)
quietly log using "`seen'", text replace name(certify)
fdzsummarize even, critical(30)
fdzsummarize uneven
fdzsummarize uneven, critical(1)
quietly log close certify
fdz_holds, file("`seen'") text("38.75") absent(1)
fdz_holds, file("`seen'") text("43.75") absent(1)
foreach wrong in 0 -1 101 none {
    capture fdzsummarize even, critical(`wrong')
    assert _rc == 198
}
* With a line critical 5, a program may ask for 6, and for nothing below 5
capture mkdir certify_rules
tempname rules
file open `rules' using "certify_rules/fdz_parameters.txt", write text replace
foreach line in "minimum 3" "cases 3" "df 10" "k 85" "critical 5" {
    file write `rules' "`line'" _n
}
file close `rules'
adopath ++ "certify_rules"
quietly log using "`seen'", text replace name(certify)
fdzsummarize uneven, critical(6)
quietly log close certify
fdz_holds, file("`seen'") text("43.75") absent(0)
replace uneven = 2 in 3
replace uneven = 1 in 4
quietly log using "`seen'", text replace name(certify)
* Now p is 3 %: below the line, whatever is asked for
fdzsummarize uneven, critical(1)
quietly log close certify
fdz_holds, file("`seen'") text("40.75") absent(1)
adopath - "certify_rules"
erase "certify_rules/fdz_parameters.txt"
rmdir certify_rules

* --- entities: many rows of one person -------------------------------------------------------
clear
set obs 40
generate person = 1 + (_n > 39)
generate wage = _n
quietly log using "`seen'", text replace name(certify)
fdzsummarize wage, entity(person)
quietly log close certify
fdz_holds, file("`seen'") text("20.5") absent(1)

* --- three cases: the mean without the deviation; all but one alike -------------------------------
clear
set obs 20
generate few = 10 * _n in 1/3
generate nearly = cond(_n == 7, 31, 11)
quietly log using "`seen'", text replace name(certify)
fdzsummarize few nearly
quietly log close certify
fdz_holds, file("`seen'") text(" 20 ") absent(0)
fdz_holds, file("`seen'") text(" 10") absent(1)
fdz_holds, file("`seen'") text(" 12 ") absent(1)
fdzsummarize few
assert r(mean) == 20
assert missing(r(sd)) & missing(r(Var))

* --- one case far from all others: the mean without the deviation ----------------------------------
clear
set obs 51
generate far = cond(_n == 51, 300, 100 + mod(_n, 7) / 100)
fdzsummarize far
assert r(N) == 51 & !missing(r(mean))
assert missing(r(sd))

* --- tabstat: a group of two, the one that hides it, and rows without a group ---------------------
clear
set obs 60
generate g = cond(_n <= 2, 1, cond(_n <= 12, 2, 3))
replace g = . in 60
generate x = 1000 + _n
replace x = 999999 in 60
label define g 1 "Smallest" 2 "Hiding" 3 "Shown"
label values g g
quietly log using "`seen'", text replace name(certify)
fdztabstat x, stats(n mean q) by(g)
quietly log close certify
fdz_holds, file("`seen'") text("Shown") absent(0)
fdz_holds, file("`seen'") text("1036") absent(0)
fdz_holds, file("`seen'") text("Smallest") absent(1)
fdz_holds, file("`seen'") text("Hiding") absent(1)
fdz_holds, file("`seen'") text("p75") absent(0)
* The total is of the 59 rows with a group
fdz_holds, file("`seen'") text("1030") absent(0)

* --- ttest: a group of two, and what would give its mean back; by the numbers of ttest --------------
capture fdzttest x, by(g)
assert _rc == 420
preserve
keep if inlist(g, 1, 2)
quietly log using "`seen'", text replace name(certify)
fdzttest x, by(g)
quietly log close certify
assert missing(r(mu_1)) & missing(r(mu_2)) & missing(r(t)) & missing(r(sd))
* The means of the two, of the ten, of all, and the difference
foreach gone in 1001.5 1007.5 1006.5 "-6" Smallest Hiding {
    fdz_holds, file("`seen'") text("`gone'") absent(1)
}
restore
preserve
keep if inlist(g, 2, 3)
fdzttest x, by(g)
assert r(N_1) == 10 & r(N_2) == 47 & reldif(r(mu_1), 1007.5) < 1e-12
local t = r(t)
local df = r(df_t)
quietly ttest x, by(g)
assert reldif(r(t), `t') < 1e-10 & r(df_t) == `df'
fdzttest x, by(g) welch level(90)
local t = r(t)
local df = r(df_t)
quietly ttest x, by(g) welch
assert reldif(r(t), `t') < 1e-10 & reldif(r(df_t), `df') < 1e-10
generate y = x + mod(_n, 5)
fdzttest x == y
local t = r(t)
quietly ttest x == y
assert reldif(r(t), `t') < 1e-10
fdzttest x == y, unpaired
local t = r(t)
quietly ttest x == y, unpaired
assert reldif(r(t), `t') < 1e-10
fdzttest x == 1030
local t = r(t)
quietly ttest x == 1030
assert reldif(r(t), `t') < 1e-10
* A constant, such as the largest value: its difference to the variable is as secret as it is
generate most = 999999
quietly log using "`seen'", text replace name(certify)
fdzttest x == most
quietly log close certify
assert missing(r(mu_1)) & missing(r(mu_2)) & missing(r(t))
capture fdzttest x == x[17]
assert _rc != 0
restore

* --- critical() does not switch a rule off ----------------------------------------------------------
capture fdzsummarize x, critical(0)
assert _rc == 198

* --- tabulate: a small count, and the one that would give it back -----------------------------
clear
set obs 100
generate g = cond(_n <= 2, 1, cond(_n <= 30, 2, 3))
quietly log using "`seen'", text replace name(certify)
fdztabulate g
quietly log close certify
fdz_holds, file("`seen'") text(" 28 ") absent(1)
fdz_holds, file("`seen'") text(" 70 ") absent(0)

* The names of withheld rows are not shown either, with numbers and with texts
label define g 1 "Rarest" 2 "Second" 3 "Common"
label values g g
decode g, generate(s)
generate h = mod(_n, 2)
quietly log using "`seen'", text replace name(certify)
fdztabulate g
fdztabulate s
fdztabulate g h
fdztabulate g in 1/2
quietly log close certify
fdz_holds, file("`seen'") text("Rarest") absent(1)
fdz_holds, file("`seen'") text("Second") absent(1)
fdz_holds, file("`seen'") text("Common") absent(0)
fdz_holds, file("`seen'") text("(withheld)") absent(0)

* A table of two ways that is safe has the names of its columns
generate k = mod(_n, 5)
label define k 0 "Nought"
label values k k
quietly log using "`seen'", text replace name(certify)
fdztabulate h k
quietly log close certify
fdztabulate k, generate(is)
assert is1 == (k == 0) & is5 == (k == 4)
fdz_holds, file("`seen'") text("Nought") absent(0)
fdz_holds, file("`seen'") text("the inside of the table is withheld") absent(1)

* --- regress: a dummy with one observation, nine degrees of freedom, a model that is fine ------
clear
set obs 60
set seed 1
generate y = rnormal()
generate z = rnormal()
generate byte single = _n == 1
fdzregress y z single
assert missing(e(N))
fdzregress y z in 1/11
assert missing(e(N))
* A base level of two cases has no dummy of its own
generate byte base = cond(_n <= 2, 1, 2 + mod(_n, 3))
fdzregress y z i.base
assert missing(e(N))
fdzregress y z i.base in 3/60
assert e(N) == 58
fdzregress y, noheader
assert e(N) == 60
fdzregress y z
assert e(N) == 60
fdzregress y z, vce(robust)
assert e(N) == 60

* --- other models: enough degrees of freedom, nine, weights that count one case as many ----------
generate byte d = _n > 30
generate byte c = mod(_n, 3)
generate w = 10
fdzestimate logit d z
assert e(N) == 60
assert "`e(cmd)'" == "logit"
* Odds ratios stay odds ratios
quietly log using "`seen'", text replace name(certify)
fdzestimate logit d z, or
quietly log close certify
fdz_holds, file("`seen'") text("Coef") absent(1)
fdz_holds, file("`seen'") text("_cons") absent(0)
quietly log using "`seen'", text replace name(certify)
fdzestimate poisson c z in 1/11
quietly log close certify
assert missing(e(N))
fdz_holds, file("`seen'") text("_cons") absent(1)
fdz_holds, file("`seen'") text("withheld for confidentiality") absent(0)
fdzestimate poisson c z [fweight=w] in 1/11
assert missing(e(N))
quietly svyset _n
fdzestimate svy: logit d z
assert e(N) == 60
capture fdzestimate logit d nosuchvariable
assert _rc == 111
assert missing(e(N))

* --- commands named by a macro: safe ones run, others do not, results stay ------------------------
clear
set obs 300
generate x = 1000 + _n
quietly count
local command generate
fdzrun `command' counted = r(N)
assert counted == 300
local command "quietly su"
fdzrun `command' x
assert r(N) == 300
quietly log using "`seen'", text replace name(certify)
local command su
fdzrun `command' x
foreach command in list "list x in 1/3" "noisily list" nosuchcommand "display x[300]" "!dir" {
    fdzrun `command'
}
quietly log close certify
fdz_holds, file("`seen'") text("1300") absent(1)
fdz_holds, file("`seen'") text("1001") absent(1)
fdz_holds, file("`seen'") text("1150.5") absent(0)
fdz_holds, file("`seen'") text("command not permitted in remote execution") absent(0)
local command logit
generate byte e = mod(_n, 2)
fdzrun `command' e x
assert e(N) == 300
fdzrun `command' e x in 1/11
assert missing(e(N))

* --- utest: the interval of the original, which is not shown -------------------------------------
clear
set obs 100
generate x = _n + 0.125
generate x2 = x^2
set seed 2
generate y = (x - 40)^2 / 50 + rnormal()
fdzregress y x x2
quietly log using "`seen'", text replace name(certify)
fdzutest x x2, quadratic fieller
quietly log close certify
fdz_holds, file("`seen'") text("p < 0.01") absent(0)
fdz_holds, file("`seen'") text("95% Fieller interval") absent(0)
fdz_holds, file("`seen'") text("1.125") absent(1)
fdz_holds, file("`seen'") text("100.125") absent(1)
assert inrange(r(extreme), 38, 42)
* Ends that are named are tested as they are
quietly log using "`seen'", text replace name(certify)
fdzutest x x2, min(10) max(90)
quietly log close certify
fdz_holds, file("`seen'") text("p = 0.0000") absent(0)
* The minimum lies outside: no class of probability
quietly log using "`seen'", text replace name(certify)
fdzutest x x2, min(60) max(90)
quietly log close certify
fdz_holds, file("`seen'") text("not significant") absent(0)
capture fdzutest x x2, inverse
assert _rc == 198

* --- evidence for a runner: start Stata with DISCREET_EVIDENCE=FILE to try this, too --------------
local place : environment DISCREET_EVIDENCE
if `"`place'"' != "" {
    capture erase `"`place'"'
    generate long fdz_place = _n - 1
    fdzsummarize x in 1/50
    confirm file `"`place'"'
    fdz_holds, file(`"`place'"') text("summarize") absent(0)
    assert _N == 100
}

* --- xtsum, xtdescribe, inspect: nothing of single entities -----------------------------------
clear
set obs 50
generate id = 90000 + ceil(_n / 5)
bysort id: generate year = 2000 + _n
generate v = rnormal()
drop if id == 90001 & year > 2001
xtset id year
quietly log using "`seen'", text replace name(certify)
fdzxtsum v
fdzxtdescribe
fdzinspect v
fdzcodebook v
quietly log close certify
fdz_holds, file("`seen'") text("9000") absent(1)

display as result "certified"
