*! fdzcodebook: codebook without ranges, distinct values and examples
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzcodebook [varlist] [if] [in] [, entity(varname) critical(p)]
program fdzcodebook, rclass
    version 14
    syntax [varlist] [if] [in] [, ENTity(varname) CRItical(string) *]
    fdzparameters, critical(`critical')
    local who
    if "`entity'" != "" {
        local who "entity(`entity')"
    }
    marksample touse, novarlist
    local place fdz_place
    local varlist : list varlist - place
    quietly count if `touse'
    local all = r(N)
    foreach name of local varlist {
        local kind : type `name'
        local label : variable label `name'
        display
        display as text "{hline 60}"
        display as text "`name'" _col(24) `"`label'"'
        display as text "{hline 60}"
        display as text %24s "type:" "  `kind'"
        quietly count if `touse' & missing(`name')
        local gaps = r(N)
        local others = `all' - `gaps'
        if inrange(`gaps', 1, `fdz_minimum' - 1) | inrange(`others', 1, `fdz_minimum' - 1) {
            display as text %24s "missing:" "  ."
        }
        else {
            display as text %24s "missing:" "  " as result `gaps' as text "/" as result `all'
        }
        capture confirm numeric variable `name'
        if _rc {
            continue
        }
        fdzcheck `name' if `touse', minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') `who'
        if !`fdz_ok' {
            display as text %24s "mean, std. dev.:" "  ."
            continue
        }
        quietly summarize `name' if `touse', detail
        local mean = r(mean)
        local spread = cond(`fdz_spread', r(sd), .)
        display as text %24s "mean:" "  " as result %10.0g `mean'
        display as text %24s "std. dev.:" "  " as result %10.0g `spread'
        foreach q in 10 25 50 75 90 {
            if `fdz_n' * min(`q', 100 - `q') >= 100 * `fdz_cases' {
                display as text %24s "`q'%:" "  " as result %10.0g r(p`q')
            }
        }
    }
    display as text "FDZ: . withheld for confidentiality"
end
