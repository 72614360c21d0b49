*! fdzsummarize: summarize without smallest and largest values
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzsummarize [varlist] [if] [in] [weight] [, detail meanonly entity(varname) critical(p)]
* Results: as summarize, so that loops over r(min) and r(max) run; the rewriter of the
*          do-file stops what would show them. What may not be shown otherwise is left out.
* Rules:   see fdzcheck; a percentile q only if n*min(q,1-q) is at least the limit.
program fdzsummarize, rclass byable(recall)
    version 14
    syntax [varlist] [if] [in] [aweight fweight iweight] [, Detail MEANonly ENTity(varname) ///
        CRItical(string) Format SEParator(integer 5)]
    fdzparameters, critical(`critical')
    marksample touse, novarlist
    local place fdz_place
    local varlist : list varlist - place
    local who
    if "`entity'" != "" {
        local who "entity(`entity')"
    }
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
    }
    if "`meanonly'" != "" {
        quietly fdzsummarize `varlist' if `touse' `weights', `who' ///
            critical(`critical')
        return add
        exit
    }
    if "`weight'" == "" {
        fdzparameters, evidence(summarize `varlist') touse(`touse')
    }
    display
    display as text "    Variable {c |}        Obs        Mean    Std. Dev."
    display as text "{hline 13}{c +}{hline 36}"
    local withheld 0
    foreach name of local varlist {
        capture confirm numeric variable `name'
        if _rc {
            display as text %12s abbrev("`name'", 12) " {c |}" as result %11.0f 0
            continue
        }
        fdzcheck `name' `weights' if `touse', minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') `who'
        if `fdz_missing' {
            display as text %12s abbrev("`name'", 12) " {c |}" as result %11.0f 0
            continue
        }
        if !`fdz_ok' {
            display as text %12s abbrev("`name'", 12) " {c |}" %11s "." %12s "." %13s "."
            local withheld 1
            continue
        }
        if "`weight'" == "iweight" | "`detail'" == "" {
            quietly summarize `name' `weights' if `touse'
        }
        else {
            quietly summarize `name' `weights' if `touse', detail
        }
        local shown
        foreach result in N sum_w mean sd Var sum min max skewness kurtosis ///
            p1 p5 p10 p25 p50 p75 p90 p95 p99 {
            local kept_`result' = r(`result')
        }
        local cases = r(N)
        local mean = r(mean)
        if !`fdz_spread' {
            * Mean and deviation of so few can be solved for the values.
            local kept_sd .
            local kept_Var .
            local withheld 1
        }
        if `fdz_n' < 10 {
            local kept_skewness .
            local kept_kurtosis .
        }
        display as text %12s abbrev("`name'", 12) " {c |}" as result %11.0fc `cases' ///
            %12.0g `mean' %13.0g `kept_sd'
        if "`detail'" != "" & "`weight'" != "iweight" {
            foreach q in 1 5 10 25 50 75 90 95 99 {
                if `fdz_n' * min(`q', 100 - `q') >= 100 * `fdz_cases' {
                    display as text %12s "`q'%" " {c |}" as result %11s "" %12.0g `kept_p`q''
                    local shown `shown' p`q'
                }
                else {
                    display as text %12s "`q'%" " {c |}" %11s "" %12s "."
                    local withheld 1
                }
            }
        }
        foreach result in N sum_w mean sd Var sum min max skewness kurtosis `shown' {
            if !inlist("`kept_`result''", "", ".") {
                return scalar `result' = `kept_`result''
            }
        }
    }
    if `withheld' {
        display as text "FDZ: . withheld for confidentiality, or missing"
    }
end
