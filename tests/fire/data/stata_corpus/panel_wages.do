/***********************************************************************
 Project : Wage growth after job loss
 File    : panel_wages.do
 Input   : $orig/siab_panel.dta      /* nested: see readme */
***********************************************************************/
version 14
clear all
set more off
capture log close
log using "$log/panel_wages.log", replace

global orig "O:/fdz/orig"
local controls "age c.age#c.age i.educ"
local cmd "summarize"

* ---- 1. sample -------------------------------------------------------
use persnr year wage age educ estnr using "$orig/siab_panel.dta", clear
keep if inrange(age, 25, 60) & !missing(wage)   // prime age only
bysort persnr (year): gen byte spell = _n
by persnr: egen meanw = mean(wage)
xtset persnr year
gen double lnw = ln(wage) if wage > 0
gen dlnw = D.lnw
label variable lnw "log daily wage, see // not a comment"
label define edu 1 "no `"degree"'" 2 "vocational" ///
    3 "university", replace
label values educ edu

* ---- 2. descriptives -------------------------------------------------
su wage, d
summarize lnw if year==2010, detail
local top = r(max)
quietly {
    su wage if year==2011
    noisily di "mean: " %9.3f r(mean)
}
cap noi ta educ year, col nofreq
tabstat wage age, by(educ) s(n mean sd) columns(statistics)
xtsum wage lnw
xtdescribe
foreach v of varlist wage age {
    cap drop z_`v'
    qui su `v'
    if r(sd) > 0 gen z_`v' = (`v' - r(mean)) / r(sd)
    else di as err "no spread in `v'"
    `cmd' z_`v', detail
}
forvalues y = 2005/2012 {
    count if year == `y'
    if r(N) < 20 { 
        di "too few in `y'" 
    }
    else if r(N) < 100 di "few in `y'"
}

* ---- 3. models -------------------------------------------------------
eststo clear
eststo m1: reg lnw `controls', vce(cluster persnr)
eststo m2: xi: xtreg lnw i.year `controls', fe
eststo m3, title("IV: second"): ivregress 2sls lnw (dlnw = L2.lnw) `controls'
esttab m1 m2 m3 using "$log/models.tex", replace se label
bootstrap diff=(_b[age]), reps(200) saving(x:/boot, replace): regress lnw age
mi estimate, post: logit dlnw age
svy, subpop(if age>30): mean wage
statsby b=_b[age] n=e(N), by(year) clear: regress lnw age
predict res, residuals
list persnr res in 1/10
by year, sort: list persnr wage if wage > `top'
exit
list everything
