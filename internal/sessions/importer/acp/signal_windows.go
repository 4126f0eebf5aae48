package acp

import "os"

// Windows has no signal that asks a process to end.
var terminate = os.Kill

func exitStatus(s *os.ProcessState) int { return s.ExitCode() }
