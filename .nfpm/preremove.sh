#!/bin/sh
# On removal, which dpkg calls "remove" and rpm calls 0, nothing is left running; an upgrade stops nothing.
case $1 in remove | 0) ;; *) exit 0 ;; esac
command -v systemctl >/dev/null || exit 0
systemctl --quiet disable tape-team.service tape-team-sync.service || :
[ ! -d /run/systemd/system ] || systemctl stop tape-team.service tape-team-sync.service || :
