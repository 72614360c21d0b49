*! fdzsummarize: summarize without smallest and largest values
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzsummarize [varlist] [if] [in] [weight] [, detail entity(varname) critical(p)]
* Rules:   see fdzcheck; a percentile q only if n*min(q,1-q) is at least the limit.
program fdzsummarize, rclass byable(recall)
    version 14
    syntax [varlist] [if] [in] [aweight fweight iweight] [, Detail ENTity(varname) ///
        CRItical(string) noFormat SEParator(integer 5)]
    fdzparameters, critical(`critical')
    marksample touse, novarlist
    local weights
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
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
        fdzcheck `name' if `touse', minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') entity(`entity')
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
        local cases = r(N)
        local mean = r(mean)
        local spread = r(sd)
        display as text %12s abbrev("`name'", 12) " {c |}" as result %11.0fc `cases' ///
            %12.0g `mean' %13.0g `spread'
        if "`detail'" != "" & "`weight'" != "iweight" {
            foreach q in 1 5 10 25 50 75 90 95 99 {
                if `fdz_n' * min(`q', 100 - `q') >= 100 * `fdz_cases' {
                    display as text %12s "`q'%" " {c |}" as result %11s "" %12.0g r(p`q')
                }
                else {
                    display as text %12s "`q'%" " {c |}" %11s "" %12s "."
                    local withheld 1
                }
            }
        }
        return scalar N = `cases'
        return scalar mean = `mean'
        return scalar sd = `spread'
    }
    if `withheld' {
        display as text "FDZ: . withheld for confidentiality, or missing"
    }
end
