* Wages and unemployment in regions
#delimit cr
version 14
clear all
capture log close
log using regions.log, replace text

program define collect_effect, rclass
    syntax varlist(min=2) [if], Cluster(varname)
    marksample touse
    gettoken outcome rest : varlist
    quietly regress `outcome' `rest' if `touse', vce(cluster `cluster')
    local first : word 1 of `rest'
    return scalar b = _b[`first']
    return scalar se = _se[`first']
    return scalar N = e(N)
end

* ---- regions -------------------------------------------------------------
import delimited "orig/regions.csv", clear varnames(1) case(lower)
rename (code name) (region region_name)
destring region, replace
drop if region == .
replace rate = rate / 100
generate west = region < 11
label define west 0 "east" 1 "west"
label values west west
encode type, generate(kind)
egen quartile = cut(rate), group(4)
bysort region (year): generate change = rate - rate[_n-1]
bysort region (year): generate base = rate[1]
keep region year rate change base west kind quartile
tempfile regions
save "`regions'", replace

* ---- persons -------------------------------------------------------------
use "data/biographies.dta", clear
keep if state == 1 & inrange(age, 25, 60)
generate region = floor(plant_id / 1000)
merge m:1 region year using "`regions'"
tabulate _merge
drop if _merge == 2
drop _merge
foreach v in rate change base {
    assert !missing(`v') if year > 1996 | missing(region)
}
generate low = ln_real < ln(30) if !missing(ln_real)
generate post = year >= 2003
generate treated = west == 0
generate effect = post * treated
label variable effect "east, from 2003 on"
global x "i.sex foreign i.agegroup experience"

* ---- models --------------------------------------------------------------
local m = 0
foreach y in ln_real low {
    foreach s in 1 2 {
        local ++m
        quietly regress `y' effect post treated $x if sex == `s', vce(cluster region)
        estimates store m`m'
        local n`m' = e(N)
        display "model `m' for `y': " `n`m'' " records"
    }
}
estimates table m1 m2 m3 m4, b(%7.3f) se stats(N r2)
test effect
lincom effect + treated

matrix effects = J(4, 3, .)
matrix rownames effects = q1 q2 q3 q4
matrix colnames effects = b se N
forvalues q = 0/3 {
    collect_effect ln_real effect post treated if quartile == `q', cluster(region)
    matrix effects[`q' + 1, 1] = r(b)
    matrix effects[`q' + 1, 2] = r(se)
    matrix effects[`q' + 1, 3] = r(N)
}
matrix list effects

* leads and lags
forvalues k = 1/3 {
    generate lead`k' = treated * (year == 2003 - `k')
    generate lag`k' = treated * (year == 2003 + `k')
}
regress ln_real lead* lag* treated i.year $x, vce(cluster region)
testparm lead*
if r(p) < 0.05 {
    display "the groups differed before"
}
else {
    display "no difference before"
}

* by region
levelsof kind, local(kinds)
foreach k of local kinds {
    quietly count if kind == `k'
    if r(N) < 100 {
        continue
    }
    regress ln_real effect post treated $x if kind == `k', vce(cluster region)
}
qreg ln_real effect post treated $x
ivregress 2sls ln_real (change = base) $x i.year, vce(cluster region)
estat firststage
reghdfe ln_real effect, absorb(region year) vce(cluster region)

* ---- description ---------------------------------------------------------
tabulate west post, row
summarize ln_real rate change
tabstat ln_real rate, by(west) statistics(mean sd n)
correlate ln_real rate
preserve
collapse (mean) ln_real rate (count) n = person_id, by(region year west)
drop if n < 50
regress ln_real rate i.year [aweight = n]
restore
drop effect post treated low
label data "employees with regions"
save "data/employees.dta", replace
log close
