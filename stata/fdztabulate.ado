*! fdztabulate: tabulate without counts that are too small, and what would give them back
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdztabulate varname [varname] [if] [in] [weight] [, missing generate(stub)
*                      summarize(varname) critical(p)]; other options are named and not carried out
* Rules:   one way: a small count is withheld, with it the next smallest ones until two counts
*          and the minimum together are withheld. Two ways: with a small count inside, all
*          counts inside are withheld; totals follow the rule for one way. With weights nothing
*          is shown if a cell has too few cases. The names of withheld rows are not shown, nor
*          how many there are: a name that few cases have tells a rare value.
program fdztabulate, rclass byable(recall)
    version 14
    syntax varlist(min=1 max=2) [if] [in] [fweight aweight iweight] [, Missing Generate(name) ///
        SUmmarize(varname) CRItical(string) *]
    fdzparameters, critical(`critical')
    marksample touse, novarlist
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    if strpos(`"`options'"', "subpop") > 0 {
        display as error "FDZ: subpop() is not permitted, use if"
        exit 198
    }
    if `"`options'"' != "" {
        display as text `"FDZ: not carried out here: `options'"'
    }
    * Numbers of the categories: strings have no matrix of values.
    tokenize `varlist'
    if "`summarize'" != "" {
        if "`2'" != "" {
            display as text "FDZ: means by two variables are not shown"
            exit
        }
        fdztabstat `summarize' `weights' if `touse', by(`1') statistics(mean sd n)
        exit
    }
    if "`weight'`missing'" == "" {
        fdzparameters, evidence(tabulate `varlist') touse(`touse')
    }
    if "`generate'" != "" & "`2'" == "" {
        * Variables of the categories, for what the program does with them later.
        quietly tabulate `1' if `touse', generate(`generate') `missing'
    }
    tempvar rows columns
    quietly egen long `rows' = group(`1') if `touse', label `missing'
    local crossed `rows'
    if "`2'" != "" {
        quietly egen long `columns' = group(`2') if `touse', label `missing'
        local crossed `rows' `columns'
    }
    if "`weight'" != "" {
        * Frequency weights count one case as many: the cases themselves must be enough.
        tempname cases
        quietly tabulate `crossed' if `touse', matcell(`cases')
        forvalues i = 1/`=rowsof(`cases')' {
            forvalues j = 1/`=colsof(`cases')' {
                local count = `cases'[`i', `j']
                if `count' > 0 & `count' < `fdz_minimum' {
                    display as text "FDZ: withheld for confidentiality"
                    capture label drop `crossed'
                    exit
                }
            }
        }
    }
    tempname counts
    if "`2'" == "" {
        quietly tabulate `rows' `weights' if `touse', matcell(`counts')
        * For loops; the rewriter of the do-file stops what would show them.
        return scalar N = r(N)
        return scalar r = r(r)
        display
        fdztabulate_rows `counts' `rows', minimum(`fdz_minimum')
        capture label drop `rows'
        exit
    }
    quietly tabulate `rows' `columns' `weights' if `touse', matcell(`counts')
    return scalar N = r(N)
    return scalar r = r(r)
    return scalar c = r(c)
    local small 0
    local down = rowsof(`counts')
    local across = colsof(`counts')
    forvalues i = 1/`down' {
        forvalues j = 1/`across' {
            local count = `counts'[`i', `j']
            if `count' > 0 & `count' < `fdz_minimum' {
                local small 1
            }
        }
    }
    tempname ones right below
    matrix `ones' = J(`across', 1, 1)
    matrix `right' = `counts' * `ones'
    matrix `ones' = J(1, `down', 1)
    matrix `below' = (`ones' * `counts')'
    if !`small' {
        display
        display as text %20s abbrev("`1'", 20) " {c |}" _continue
        forvalues j = 1/`across' {
            local name : label (`columns') `j'
            display as text %11s abbrev(`"`name'"', 10) _continue
        }
        display as text " {c |}      Total"
        forvalues i = 1/`down' {
            local name : label (`rows') `i'
            display as text %20s abbrev(`"`name'"', 20) " {c |}" _continue
            forvalues j = 1/`across' {
                display as result %11.0fc `counts'[`i', `j'] _continue
            }
            display as text " {c |}" as result %11.0fc `right'[`i', 1]
        }
    }
    else {
        display as text "FDZ: the inside of the table is withheld for confidentiality"
    }
    display as text "Totals of `1'"
    fdztabulate_rows `right' `rows', minimum(`fdz_minimum')
    display as text "Totals of `2'"
    fdztabulate_rows `below' `columns', minimum(`fdz_minimum')
    * What the numbers of the categories stand for is not left behind.
    capture label drop `crossed'
end

* One list of counts with its total.
program fdztabulate_rows
    version 14
    syntax anything, minimum(real)
    tokenize `anything'
    local counts `1'
    local names `2'
    local down = rowsof(`counts')
    local total 0
    local hidden 0
    local sum 0
    forvalues i = 1/`down' {
        local count`i' = `counts'[`i', 1]
        local total = `total' + `count`i''
        local closed`i' = `count`i'' > 0 & `count`i'' < `minimum'
        local hidden = `hidden' + `closed`i''
        local sum = `sum' + `closed`i'' * `count`i''
    }
    local again = `hidden' > 0
    while `again' {
        local again = `hidden' < 2 | `sum' < `minimum'
        local least .
        local at 0
        forvalues i = 1/`down' {
            if !`closed`i'' & `count`i'' > 0 & `count`i'' < `least' {
                local least = `count`i''
                local at `i'
            }
        }
        if `again' & `at' > 0 {
            local closed`at' 1
            local hidden = `hidden' + 1
            local sum = `sum' + `least'
        }
        local again = `again' & `at' > 0
    }
    display as text _col(21) " {c |}      Freq.     Percent"
    display as text "{hline 21}{c +}{hline 23}"
    forvalues i = 1/`down' {
        if !`closed`i'' & `total' >= `minimum' {
            local name : label (`names') `i'
            display as text %20s abbrev(`"`name'"', 20) " {c |}" as result ///
                %11.0fc `count`i'' %12.2f 100 * `count`i'' / `total'
        }
    }
    if `hidden' | `total' < `minimum' {
        display as text %20s "(withheld)" " {c |}" %11s "." %12s "."
    }
    if `total' >= `minimum' {
        display as text %20s "Total" " {c |}" as result %11.0fc `total' %12.2f 100
    }
    if `hidden' | `total' < `minimum' {
        display as text "FDZ: . withheld for confidentiality"
    }
end
