*! fdzxtsum: xtsum without smallest and largest values
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzxtsum [varlist] [if] [, i(varname) critical(p)]
* Rules:   see fdzcheck, with the panel variable as entity. The deviations within and overall are
*          withheld if only a few entities change: they would tell by how much.
program fdzxtsum, rclass byable(recall)
    version 14
    syntax [varlist] [if] [in] [, I(varname) CRItical(string)]
    fdzparameters, critical(`critical')
    if "`i'" == "" {
        quietly xtset
        local i `r(panelvar)'
    }
    marksample touse, novarlist
    local place fdz_place
    local varlist : list varlist - place
    display
    display as text "Variable         {c |}      Mean   Std. Dev. {c |}    Observations"
    display as text "{hline 17}{c +}{hline 22}{c +}{hline 16}"
    foreach name of local varlist {
        capture confirm numeric variable `name'
        if _rc {
            continue
        }
        fdzcheck `name' if `touse', minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p') entity(`i')
        if !`fdz_ok' {
            display as text %-16s abbrev("`name'", 8) " {c |}" %10s "." %12s "." " {c |}"
            continue
        }
        tempvar first low high
        quietly egen byte `first' = tag(`i') if `touse' & !missing(`name')
        quietly egen double `low' = min(`name') if `touse', by(`i')
        quietly egen double `high' = max(`name') if `touse', by(`i')
        quietly count if `first' == 1 & `low' < `high'
        local few = inrange(r(N), 1, `fdz_minimum' - 1) | !`fdz_spread'
        quietly xtsum `name' if `touse', i(`i')
        local overall = cond(`few', ., r(sd))
        local between = cond(`fdz_spread', r(sd_b), .)
        local within = cond(`few', ., r(sd_w))
        display as text %-8s abbrev("`name'", 8) " overall {c |}" as result %10.0g r(mean) ///
            %12.0g `overall' as text " {c |}     N = " as result %7.0f r(N)
        display as text "         between {c |}" %10s "" as result %12.0g `between' ///
            as text " {c |}     n = " as result %7.0f r(n)
        display as text "         within  {c |}" %10s "" as result %12.0g `within' ///
            as text " {c |}"
    }
    display as text "FDZ: . withheld for confidentiality"
end
