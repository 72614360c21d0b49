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
    local line `"`macval(0)'"'
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
        capture local left = e(N) - colsof(e(b))
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
    fdzestimate_how `macval(line)'
    * Estimation commands show their results again when called without variables.
    local show `e(cmd2)'
    if "`show'" == "" {
        local show `e(cmd)'
    }
    `show', `s(how)'
end

* Options that say how a model is shown: odds ratios must not come out as coefficients. Each part
* of the line that ends with a colon, as svy: or mi estimate:, may have some.
program fdzestimate_how, sclass
    version 14
    local how
    local rest `"`macval(0)'"'
    while `"`rest'"' != "" {
        gettoken part rest : rest, parse(":") bind
        gettoken before options : part, parse(",") bind
        local 0 `"`options'"'
        syntax [, OR IRr noHR RRr EForm COEF TRatio Level(passthru) noHEader noTABle *]
        foreach name in or irr hr rrr eform coef tratio level header table {
            local how `how' ``name''
        }
    }
    local how : list uniq how
    sreturn local how `how'
end
