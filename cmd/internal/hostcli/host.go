// Package hostcli is what the commands of tape-host do. Their names, flags and help are in
// package cli, which both programs use.
package hostcli

// Host runs the commands of tape-host.
type Host struct{}
