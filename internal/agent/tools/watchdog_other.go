//go:build !unix

package tools

import "os/exec"

// groups reports whether processes have groups.
const groups = false

func apart(*exec.Cmd) {}

// A process that has ended needs no signal.

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

const nonBlocking = 0
