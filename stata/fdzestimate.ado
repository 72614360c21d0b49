*! fdzestimate: runs a model quietly, checks it, and shows it only then
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzestimate <estimation command line, with svy:, mi estimate: and the like>
* Rules:   the fewest residual degrees of freedom, see fdzparameters. What is not safe is not
*          shown and not kept.
program fdzestimate, eclass byable(onecall)
    version 14
    local by
    if _by() {
        local by "by `_byvars'`_byrc0':"
    }
    fdzparameters
    local least `fdz_df'
    if "`by'" != "" {
        display as text "FDZ: models by group: write a loop with if, each model is then checked"
        exit
    }
    capture quietly `macval(0)'
    if _rc {
        local failed = _rc
        ereturn clear
        display as text "FDZ: the model could not be estimated"
        exit `failed'
    }
    local left = e(df_r)
    if missing(`left') {
        local left = e(N) - e(rank)
    }
    if missing(`left') {
        local left = e(N) - colsof(e(b))
    }
    * Frequency weights count one case as many.
    quietly count if e(sample)
    if r(N) > 0 & !missing(e(rank)) {
        local left = min(`left', r(N) - e(rank))
    }
    if missing(`left') | `left' < `least' {
        ereturn clear
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    * Estimation commands show their results again when called without variables.
    `e(cmd)'
end
