// Package hostcli does the work of the commands of tape-host: what keeps running, pages of HTML, the team. Their names,
// flags and help are in packages cli and hostcmd, which both programs use.
package hostcli

// Host runs the commands of tape-host.
type Host struct{}
