// Package hostcmd has the flags and help of commands whose work tape-host does: tape serve with its links to single
// sessions, tape publish, tape team and tape login.
package hostcmd
