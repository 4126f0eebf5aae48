//go:build unix && !linux && extra

package agentstest

import "errors"

func mount(string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
