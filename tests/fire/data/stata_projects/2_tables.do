* Earnings after plant closure, step 2: tables
version 14
clear all
capture log close
log using tables.log, replace text
use "data/sample.dta", clear

local controls "c.age##c.age i.educ3 i.sex"
local outcomes "ln_wage ln_days"

* ---- table 1: means ------------------------------------------------------
putexcel set "table1.xlsx", replace
putexcel A1 = "Table 1: means of treated and others"
putexcel A2 = "variable" B2 = "treated" C2 = "others"
putexcel A1:C1, bold
local row = 3
foreach v of varlist wage age days {
    quietly summarize `v' if treated == 1
    putexcel A`row' = "`v'"
    putexcel B`row' = (r(mean))
    quietly summarize `v' if treated == 0
    putexcel C`row' = (r(mean))
    local row = `row' + 1
}
quietly count if treated == 1
putexcel B`row' = (r(N))
putexcel A`row' = "persons and years"

* ---- table 2: models -----------------------------------------------------
eststo clear
foreach y of local outcomes {
    eststo `y'_1: regress `y' treated i.year, vce(cluster person_id)
    estadd local controls "no"
    eststo `y'_2: regress `y' treated i.year `controls', vce(cluster person_id)
    estadd local controls "yes"
    eststo `y'_3: xtreg `y' treated i.year, fe vce(cluster person_id)
    estadd local controls "fixed effects"
}
esttab using table2.tex, replace se label ///
    keep(treated) stats(N r2 controls) booktabs
esttab ln_wage_1 ln_wage_2 ln_wage_3, se r2

* ---- table 3: by education -----------------------------------------------
file open t using table3.tex, write replace
file write t "\begin{tabular}{lcc}" _n
file write t "education & effect & standard error \\" _n
file write t "\hline" _n
forvalues e = 1/3 {
    quietly regress ln_wage treated i.year c.age##c.age if educ3 == `e', vce(cluster person_id)
    local b : display %6.3f _b[treated]
    local s : display %6.3f _se[treated]
    file write t "`e' & `b' & `s' \\" _n
    test treated = 0
    lincom treated + 1.sex
}
file write t "\hline" _n
file write t "\end{tabular}" _n
file close t

* ---- event study ---------------------------------------------------------
generate event = year - closing_year
replace event = -99 if missing(event)
tempname effects
tempfile path
postfile `effects' event b se using `path'
forvalues k = -3/4 {
    generate byte d`k' = event == `k' if `k' >= 0
    capture confirm variable d`k'
    if _rc continue
    quietly areg ln_wage d`k' i.year, absorb(person_id) vce(cluster person_id)
    post `effects' (`k') (_b[d`k']) (_se[d`k'])
}
postclose `effects'

preserve
use `path', clear
generate upper = b + 1.96 * se
generate lower = b - 1.96 * se
twoway (rcap upper lower event) (connected b event), yline(0) legend(off) ///
    title("Wages after the closure")
graph export event.png, replace
restore

* ---- robustness ----------------------------------------------------------
bootstrap _b, reps(200) seed(17) nodots: regress ln_wage treated `controls'
logit treated `controls' if year == 2008
margins, dydx(age)
predict score, pr
histogram score if treated == 1, percent title("Scores of the treated")
graph export score.png, replace
psmatch2 treated `controls', outcome(ln_wage) neighbor(1)
pwcorr ln_wage ln_days age, sig
log close
