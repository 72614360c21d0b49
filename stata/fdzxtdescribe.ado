*! fdzxtdescribe: patterns of participation that enough entities have
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzxtdescribe [if] [in] [, critical(p)]
* Rules:   no identifiers, no shortest and longest series; patterns of few entities are put
*          together with the next rare ones, so that the total gives nothing back.
program fdzxtdescribe, rclass byable(recall)
    version 14
    syntax [if] [in] [, CRItical(string) *]
    fdzparameters, critical(`critical')
    quietly xtset
    local i `r(panelvar)'
    local t `r(timevar)'
    marksample touse
    markout `touse' `i' `t'
    preserve
    quietly keep if `touse'
    keep `i' `t'
    tempvar pattern period cases
    * In the order of time as numbers; the text of a time is as long as it must be.
    quietly bysort `i' (`t'): generate long `period' = _n
    quietly tostring `t', replace force
    quietly bysort `i' (`period'): generate `pattern' = `t' if _n == 1
    quietly by `i': replace `pattern' = `pattern'[_n - 1] + " " + `t' if _n > 1
    quietly by `i': keep if _n == _N
    local entities = _N
    if `entities' < `fdz_minimum' {
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    quietly contract `pattern', freq(`cases')
    gsort -`cases' `pattern'
    display as text "entities: " as result %9.0fc `entities'
    display as text "    Freq.   Percent {c |} Periods"
    local rest 0
    local rows = _N
    * From below: rare patterns are added up until their sum is large enough.
    local last `rows'
    while `last' > 0 & (`cases'[max(`last', 1)] < `fdz_minimum' | (`rest' > 0 & `rest' < `fdz_minimum') ///
        | `rows' - `last' == 1) {
        local rest = `rest' + `cases'[`last']
        local last = `last' - 1
    }
    forvalues row = 1/`last' {
        local count = `cases'[`row']
        local periods = `pattern'[`row']
        display as result %9.0fc `count' %10.2f 100 * `count' / `entities' as text " {c |} `periods'"
    }
    if `rest' > 0 {
        display as result %9.0fc `rest' %10.2f 100 * `rest' / `entities' as text " {c |} (other patterns)"
    }
    restore
end
