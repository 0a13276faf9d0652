# scripts/lib/usage.sh - `--help` of the shell scripts: their opening comment.
# SPDX-License-Identifier: Apache-2.0

# usage_if_asked "$@": where an argument is -h or --help, prints the opening comment of the script that calls and exits with 0.
usage_if_asked() {
  local argument
  for argument in "$@"; do
    case $argument in
    -h | --help)
      sed -n -e '2,/^[^#]/{/^# SPDX/d;s/^# \{0,1\}//p;}' "$0"
      exit 0
      ;;
    esac
  done
}
