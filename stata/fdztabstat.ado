*! fdztabstat: tabstat without smallest and largest values, by groups that are large enough
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdztabstat varlist [if] [in] [weight] [, statistics(names) by(varname) missing
*                     entity(varname) critical(p)]
* Rules:   see fdzcheck. What is withheld follows from the total less the groups that are shown:
*          the smallest groups are withheld as well until all of them together keep the rules.
*          A group whose deviation may not be shown beside its mean is withheld as a whole.
*          The names of withheld groups are not shown.
program fdztabstat, rclass byable(recall)
    version 14
    syntax varlist(numeric) [if] [in] [aweight fweight] [, Statistics(string) STATS(string) ///
        by(varname) Missing ENTity(varname) CRItical(string) *]
    fdzparameters, critical(`critical')
    marksample touse, novarlist
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    local rules minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p')
    if "`entity'" != "" {
        local rules `rules' entity(`entity')
    }
    local statistics = lower(trim("`statistics' `stats'"))
    if "`statistics'" == "" {
        local statistics mean
    }
    local statistics : subinstr local statistics "median" "p50", all word
    local statistics : subinstr local statistics "med" "p50", all word
    local statistics : subinstr local statistics "var" "variance", all word
    local statistics : subinstr local statistics "q" "p25 p50 p75", all word
    local known n count mean sd variance sum cv p1 p5 p10 p25 p50 p75 p90 p95 p99
    local shown : list statistics & known
    local refused : list statistics - known
    foreach name of local refused {
        display as text "FDZ: statistic `name' is not shown"
    }
    tempvar group hidden
    local groups
    if "`by'" != "" {
        if "`missing'" == "" {
            * Rows without a group are in no total either: it would give them away.
            markout `touse' `by', strok
        }
        quietly egen long `group' = group(`by') if `touse', label `missing'
        quietly levelsof `group', local(groups)
    }
    * A variable that is a sum of others would give back what is withheld of them.
    quietly _rmcoll `varlist' if `touse', forcedrop
    local alone `r(varlist)'
    local sums : list varlist - alone
    foreach name of local sums {
        display as text "FDZ: `name' can be worked out from the other variables and is left out"
    }
    local varlist : list varlist & alone
    if "`weight'" == "" {
        fdzparameters, evidence(tabstat `varlist') touse(`touse') by(`by')
    }
    foreach name of local varlist {
        quietly generate byte `hidden' = 0
        local open
        local closed 0
        foreach level of local groups {
            fdzcheck `name' `weights' if `touse' & `group' == `level', `rules'
            local cases`level' `fdz_n'
            if `fdz_ok' & `fdz_spread' {
                local open `open' `level'
            }
            else if !`fdz_missing' {
                quietly replace `hidden' = 1 if `group' == `level'
                local closed = `closed' + 1
            }
        }
        local safe = `closed' == 0
        while !`safe' & "`open'" != "" {
            fdzcheck `name' `weights' if `touse' & `hidden', `rules'
            local safe = `closed' > 1 & `fdz_ok' & `fdz_spread'
            if !`safe' {
                gettoken least others : open
                foreach level of local others {
                    if `cases`level'' < `cases`least'' {
                        local least `level'
                    }
                }
                quietly replace `hidden' = 1 if `group' == `least'
                local closed = `closed' + 1
                local open : list open - least
            }
        }
        display
        display as text %12s abbrev("`name'", 12) _continue
        foreach word of local shown {
            display as text %12s "`word'" _continue
        }
        display
        foreach level of local open {
            local label : label (`group') `level'
            fdztabstat_row `name' `weights' if `touse' & `group' == `level', shown(`shown') ///
                label(`"`label'"') cases(`fdz_cases') `rules'
        }
        if `closed' > 0 {
            display as text %12s "(withheld)" " ."
        }
        fdztabstat_row `name' `weights' if `touse', shown(`shown') label("Total") ///
            cases(`fdz_cases') `rules'
        drop `hidden'
    }
    capture label drop `group'
    display as text "FDZ: . withheld for confidentiality, or missing"
end

* One row: the statistics of one variable in one group.
program fdztabstat_row, rclass
    version 14
    syntax varname(numeric) [if] [aweight fweight] , shown(string) label(string) ///
        minimum(real) k(real) p(real) cases(real) [entity(string)]
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    local who
    if "`entity'" != "" {
        local who "entity(`entity')"
    }
    fdzcheck `varlist' `weights' `if', minimum(`minimum') k(`k') p(`p') `who'
    display as text %12s abbrev(`"`label'"', 12) _continue
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
    local sum = r(sum)
    * Mean and deviation of so few can be solved for the values.
    local sd = cond(`fdz_spread', r(sd), .)
    local variance = cond(`fdz_spread', r(Var), .)
    local cv = `sd' / `mean'
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
