#!/bin/sh
# Measures retrieval on commits of public repositories. RETRIEVAL_REPOS names a folder
# that has them; without it they are cloned, once. Further arguments go to the program:
#   -limit 8           eight cases of each repository
#   -repo redis,tokio  only these
#   -run ours,bm25     only these methods; ours-path is ours without that ranker
set -e
cd "$(dirname "$0")/../.."
exec go run ./bench/retrieval -run all "$@"
