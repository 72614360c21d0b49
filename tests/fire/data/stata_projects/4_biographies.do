* Biographies of employment: spells, gaps and first jobs
version 14
clear all
set more off
set seed 4711
capture log close
log using biographies.log, replace text

* ---- 1. spells -----------------------------------------------------------
use person_id begin end status plant_id wage using "orig/spells.dta", clear
describe
format begin end %td
drop if begin > end
drop if missing(begin, end)
generate int length = end - begin + 1
label variable length "days of the spell"
recode status (1 2 = 1 "employed") (3 = 2 "unemployed") (4/9 = 3 "other"), generate(state)
tabulate state, missing

sort person_id begin end
by person_id: generate spell = _n
by person_id: generate spells = _N
by person_id: generate gap = begin - end[_n-1] - 1 if _n > 1
replace gap = 0 if gap < 0
by person_id: generate byte overlap = begin <= end[_n-1] if _n > 1
count if overlap == 1
drop if overlap == 1 & state != 1

* of spells that overlap the one with the higher wage is the main one
gsort person_id begin -wage
by person_id begin: generate byte main = _n == 1
keep if main
drop main overlap

* ---- 2. years ------------------------------------------------------------
generate year_begin = year(begin)
generate year_end = year(end)
generate copies = year_end - year_begin + 1
expand copies
bysort person_id spell: generate year = year_begin + _n - 1
generate day_first = max(begin, mdy(1, 1, year))
generate day_last = min(end, mdy(12, 31, year))
generate days = day_last - day_first + 1
format day_first day_last %td
assert inrange(days, 1, 366)
drop copies year_begin year_end

bysort person_id year state: egen days_state = total(days)
bysort person_id year: egen days_all = total(days)
generate share = days_state / days_all
label variable share "share of the year in this state"
bysort person_id year (days): keep if _n == _N
isid person_id year

* ---- 3. first jobs -------------------------------------------------------
preserve
keep if state == 1
bysort person_id (year): generate byte first = _n == 1
keep if first
keep person_id year plant_id wage
rename (year plant_id wage) (first_year first_plant first_wage)
tempfile firsts
save `firsts'
restore
merge m:1 person_id using `firsts', nogenerate
generate experience = year - first_year if year >= first_year
label variable experience "years since the first job"

* ---- 4. characteristics --------------------------------------------------
merge m:1 person_id using "orig/persons.dta", keep(match) keepusing(sex birth_year nation)
drop _merge
generate age = year - birth_year
generate agegroup = .
local group 0
foreach low of numlist 15 25 35 45 55 {
    local ++group
    replace agegroup = `group' if inrange(age, `low', `low' + 9)
    local labels `labels' `group' "`low' and older"
}
label define agegroup `labels'
label values agegroup agegroup
generate byte foreign = nation != 1 if !missing(nation)
label variable foreign "not a national"

* deflated wages
merge m:1 year using "orig/prices.dta", keep(match master) nogenerate
generate real_wage = wage / index * 100
generate ln_real = ln(real_wage)
local variables "real_wage experience age"
foreach v of local variables {
    quietly summarize `v'
    generate std_`v' = (`v' - r(mean)) / r(sd)
}

* ---- 5. transitions ------------------------------------------------------
xtset person_id year
generate byte to_unemployed = F.state == 2 if state == 1 & !missing(F.state)
generate byte to_employed = F.state == 1 if state == 2 & !missing(F.state)
by person_id: generate cumulated = sum(state == 2)
generate byte ever = cumulated > 0
foreach lag of numlist 1/3 {
    generate lag`lag'_wage = L`lag'.ln_real
    generate lag`lag'_state = L`lag'.state
}
drop if year < 1995
compress
label data "biographies by year"
save "data/biographies.dta", replace

summarize real_wage age experience
summarize real_wage if sex == 2, detail
tabulate year state, row
tabulate agegroup foreign
tabstat ln_real, by(agegroup) statistics(n mean sd)
xtsum ln_real
logit to_unemployed i.agegroup i.sex foreign experience i.year, vce(cluster person_id)
margins, dydx(foreign)
xtreg ln_real experience c.experience#c.experience i.year, fe
estimates store fixed
xtreg ln_real experience c.experience#c.experience i.year, re
estimates store random
hausman fixed random
stset experience, failure(to_unemployed)
stcox i.sex foreign i.agegroup
log close
exit
