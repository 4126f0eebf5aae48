//go:build !unix

package tools

import "os/exec"

// groups: whether processes have groups.
const groups = false

func apart(*exec.Cmd) {}

// A process that is gone needs no end.

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

const withoutWaiting = 0
