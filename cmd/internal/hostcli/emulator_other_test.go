//go:build !linux

package hostcli

import "errors"

func inEmulator(screenOptions) (terminal, error) {
	return nil, errors.New("these tests need tmux on this system: install it")
}
