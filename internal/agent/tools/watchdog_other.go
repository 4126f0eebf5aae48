//go:build !unix

package tools

import "os/exec"

// groups reports whether processes have groups.
const groups = false

func detach(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

const nonBlocking = 0
