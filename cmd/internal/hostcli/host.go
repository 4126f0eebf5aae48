// Package hostcli implements the commands of tape-host. Their names, flags and help are in package
// cli, which both programs use.
package hostcli

import "tape/cmd/internal/teamhost"

// Host runs the commands of tape-host.
type Host struct{ teamhost.Host }
