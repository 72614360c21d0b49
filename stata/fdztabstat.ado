*! fdztabstat: tabstat without smallest and largest values, by groups that are large enough
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdztabstat varlist [if] [in] [weight] [, statistics(names) by(varname)
*                     entity(varname) critical(p)]
* Rules:   see fdzcheck; with one group withheld the total is withheld as well.
program fdztabstat, byable(recall)
    version 14
    syntax varlist(numeric) [if] [in] [aweight fweight] [, Statistics(string) by(varname) ///
        ENTity(varname) CRItical(string) *]
    fdzparameters, critical(`critical')
    marksample touse, novarlist
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    if "`statistics'" == "" {
        local statistics mean
    }
    local statistics : subinstr local statistics "median" "p50", all word
    local known n count mean sd variance sum cv p1 p5 p10 p25 p50 p75 p90 p95 p99
    local shown : list statistics & known
    local refused : list statistics - known
    foreach name of local refused {
        display as text "FDZ: statistic `name' is not shown"
    }
    tempvar group
    if "`by'" != "" {
        quietly egen long `group' = group(`by') if `touse'
        quietly levelsof `group', local(groups)
    }
    display
    foreach name of local varlist {
        local closed 0
        local number : word count `groups'
        display as text "`name'" _continue
        foreach word of local shown {
            display as text %12s "`word'" _continue
        }
        display
        foreach level of local groups {
            fdztabstat_row `name' `weights' if `touse' & `group' == `level', shown(`shown') ///
                label("`by' `level'") minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') ///
                cases(`fdz_cases') entity(`entity')
            local closed = `closed' + 1 - `fdz_shown'
        }
        if `closed' == 1 {
            display as text %12s "Total" "  withheld: it would give the withheld group back"
        }
        else {
            fdztabstat_row `name' `weights' if `touse', shown(`shown') label("Total") ///
                minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') cases(`fdz_cases') entity(`entity')
        }
    }
    display as text "FDZ: . withheld for confidentiality, or missing"
end

* One row: the statistics of one variable in one group.
program fdztabstat_row
    version 14
    syntax varname(numeric) [if] [aweight fweight] , shown(string) label(string) ///
        minimum(real) k(real) p(real) cases(real) [entity(varname)]
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    fdzcheck `varlist' `weights' `if', minimum(`minimum') k(`k') p(`p') entity(`entity')
    c_local fdz_shown `fdz_ok'
    display as text %12s abbrev("`label'", 12) _continue
    if !`fdz_ok' {
        foreach word of local shown {
            display as text %12s "." _continue
        }
        display
        exit
    }
    quietly summarize `varlist' `weights' `if', detail
    local n = r(N)
    local count = r(N)
    local mean = r(mean)
    local sd = r(sd)
    local variance = r(Var)
    local sum = r(sum)
    local cv = r(sd) / r(mean)
    foreach q in 1 5 10 25 50 75 90 95 99 {
        local p`q' .
        if `fdz_n' * min(`q', 100 - `q') >= 100 * `cases' {
            local p`q' = r(p`q')
        }
    }
    foreach word of local shown {
        display as result %12.0g ``word'' _continue
    }
    display
end
