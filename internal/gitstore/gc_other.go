//go:build !unix && !windows

package gitstore

import "os/exec"

func endWithChildren(*exec.Cmd) {}
