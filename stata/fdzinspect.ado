*! fdzinspect: inspect shows smallest and largest values in a picture; it is not permitted
*! NOT YET RUN IN STATA: certify it before use, see README.md
program fdzinspect
    version 14
    display as text "FDZ: inspect is not permitted in remote execution"
end
