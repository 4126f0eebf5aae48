//go:build !linux

package screen

import "errors"

func inEmulator(Options) (terminal, error) {
	return nil, errors.New("these tests need tmux on this system: install it")
}
