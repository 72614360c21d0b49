*! fdzutest: test for a U shape without the ends of the range
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzutest x xsquared [, min(#) max(#)], after a regression with both
* Rules:   the model of fdzregress only; t values at the ends of the range would give the ends
*          back together with the coefficients, so the test is shown in classes.
program fdzutest, rclass
    version 14
    syntax varlist(min=2 max=2 numeric) [, MIN(string) MAX(string) CRItical(string) *]
    fdzparameters, critical(`critical')
    tokenize `varlist'
    if missing(e(df_r)) | e(df_r) < `fdz_df' {
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    tempname one two a b c
    scalar `one' = _b[`1']
    scalar `two' = _b[`2']
    matrix `a' = e(V)
    scalar `b' = `a'[rownumb(`a', "`1'"), colnumb(`a', "`2'")]
    quietly summarize `1' if e(sample), meanonly
    local worst 0
    local sides 0
    foreach end in min max {
        local x = r(`end')
        * Ends that the researcher names stand in the do-file anyway.
        if "``end''" != "" {
            local x = ``end''
        }
        scalar `c' = `one' + 2 * `two' * `x'
        local se = sqrt(_se[`1']^2 + 4 * `x'^2 * _se[`2']^2 + 4 * `x' * `b')
        local worst = max(`worst', ttail(e(df_r), abs(`c' / `se')))
        local sides = `sides' + sign(`c')
    }
    local class "not significant"
    if `sides' == 0 {
        local class = cond(`worst' < .01, "p < 0.01", cond(`worst' < .05, "p < 0.05", ///
            cond(`worst' < .1, "p < 0.10", "not significant")))
    }
    display as text "Extreme point:            " as result %10.0g -`one' / (2 * `two')
    display as text "Test for a U shape:       " as result "`class'"
    return scalar extreme = -`one' / (2 * `two')
end
