//go:build !unix && !windows

package gitrun

import "os/exec"

func EndWithChildren(*exec.Cmd) {}
