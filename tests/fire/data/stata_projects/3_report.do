* Earnings after plant closure, step 3: a report
version 15
clear all
capture log close
log using report.log, replace text
use "data/sample.dta", clear

putdocx begin
putdocx paragraph, style(Title)
putdocx text ("Earnings after plant closure")
putdocx paragraph
putdocx text ("The sample holds persons between 25 and 55 years of age who worked ")
putdocx text ("at least 30 days"), italic
putdocx text (" in a year.")
putdocx paragraph, style(Heading1)
putdocx text ("Description")

quietly count
local cases : display %12.0fc r(N)
putdocx paragraph
putdocx text ("There are `cases' records.")

putdocx table t1 = (4, 3)
putdocx table t1(1,1) = ("variable"), bold
putdocx table t1(1,2) = ("mean"), bold halign(center)
putdocx table t1(1,3) = ("deviation"), bold halign(center)
local row 2
foreach v of varlist wage age days {
    quietly summarize `v'
    putdocx table t1(`row',1) = ("`v'")
    putdocx table t1(`row',2) = (r(mean)), nformat(%9.2f) halign(center)
    putdocx table t1(`row',3) = (r(sd)), nformat(%9.2f) halign(center)
    local ++row
}

putdocx paragraph, style(Heading1)
putdocx text ("By year")
levelsof year, local(years)
foreach y of local years {
    quietly summarize wage if year == `y'
    local m`y' = r(mean)
}
collapse (mean) wage (count) n = wage, by(year treated)
drop if n < 20
tempfile means
save `means'
reshape wide wage n, i(year) j(treated)
generate gap = wage1 - wage0
label variable gap "difference of means"
graph bar wage1 wage0, over(year) title("Mean wages") ///
    legend(label(1 "treated") label(2 "others"))
graph export means.png, replace
putdocx paragraph, halign(center)
putdocx image means.png, width(5)

use "data/sample.dta", clear
merge m:1 year treated using `means', keep(match) nogenerate
generate relative = wage / m_wage if !missing(m_wage)
putdocx paragraph, style(Heading1)
putdocx text ("Models")
regress ln_wage treated i.year c.age##c.age, vce(cluster person_id)
putdocx table t2 = etable
putdocx save report.docx, replace

* what is kept for the next paper
keep person_id year treated ln_wage
save "data/short.dta", replace
tab year treated, chi2
tabstat ln_wage, by(year) statistics(mean sd n)
ttest ln_wage, by(treated)
log close
