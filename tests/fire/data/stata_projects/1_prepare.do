* Earnings after plant closure, step 1: the sample
version 14
clear all
set more off
capture log close
log using prepare.log, replace text

global orig "orig"
global data "data"
local first 2005
local last 2012

* ---- plants --------------------------------------------------------------
tempfile plants closures
use plant_id year employees industry state using "$orig/plants.dta", clear
keep if inrange(year, `first', `last')
drop if missing(plant_id)
bysort plant_id (year): generate lag_emp = employees[_n-1]
generate growth = (employees - lag_emp) / (0.5 * (employees + lag_emp))
bysort plant_id (year): generate byte closes = _n == _N & year < `last'
label variable growth "growth of employment"
label variable closes "closes next year"
assert employees >= 0 if !missing(employees)
isid plant_id year
compress
save `plants', replace

keep if closes
keep plant_id year industry
rename year closing_year
duplicates drop plant_id, force
save "`closures'"

* ---- persons -------------------------------------------------------------
use person_id year plant_id wage birth_year sex education days using "$orig/persons.dta", clear
keep if inrange(year, `first', `last')
generate age = year - birth_year
keep if inrange(age, 25, 55)
drop if days < 30
recode education (1/2 = 1 "low") (3/4 = 2 "middle") (5/6 = 3 "high"), generate(educ3)
label define sex 1 "men" 2 "women"
label values sex sex

foreach v of varlist wage days {
    capture drop ln_`v'
    generate ln_`v' = ln(`v') if `v' > 0
    label variable ln_`v' "log of `v'"
}

merge m:1 plant_id year using `plants', keep(match master) nogenerate
merge m:1 plant_id using "`closures'", keep(match master) generate(_closed)
generate byte treated = _closed == 3 & year >= closing_year
drop _closed

* mean wage of the colleagues
bysort plant_id year: egen plant_wage = mean(wage)
bysort plant_id year: generate colleagues = _N - 1
replace plant_wage = (plant_wage * (colleagues + 1) - wage) / colleagues if colleagues > 0
replace plant_wage = . if colleagues == 0

* trimming at the 99th percentile of each year
forvalues y = `first'/`last' {
    quietly summarize wage if year == `y', detail
    replace wage = . if wage > r(p99) & year == `y' & !missing(wage)
}

* ---- how many are left ---------------------------------------------------
count
display "records: " r(N)
tabulate year treated
tabulate educ3 sex, row nofreq
summarize wage age days if treated == 0
summarize wage age days if treated == 1

xtset person_id year
xtdescribe
order person_id year plant_id
sort person_id year
save "$data/sample.dta", replace
log close
exit
