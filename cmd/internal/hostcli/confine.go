package hostcli

import (
	"cmp"
	"errors"
	"os"
	"os/exec"

	"tape/internal/agent/keys"
	"tape/internal/agent/sandbox"
)

// confine returns what puts the agent's commands into a sandbox; nil if they are not confined.
func (a *assembly) confine(home string) (func(cmd *exec.Cmd) error, error) {
	mode, err := a.Store.Setting("sandbox")
	if err != nil {
		return nil, err
	}
	if mode = cmp.Or(mode, "auto"); mode == "off" {
		a.unconfined = "the setting sandbox is off"
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		self = "" // bubblewrap works without it
	}
	a.box = sandbox.New(sandbox.Options{Project: a.Project, Home: home, Hidden: []string{keys.File(a.Home)}, Self: self})
	go func() { _ = a.box.Off() }() // it starts a process; warnOpen wants to know
	return func(cmd *exec.Cmd) error {
		if off := a.box.Off(); off != nil && mode == "auto" {
			return nil
		} else if off != nil {
			return errors.Join(off, errors.New("tape config sandbox auto runs it nevertheless"))
		}
		return a.box.Confine(cmd)
	}, nil
}

// settle looks at the project after a confined command.
func (a *assembly) settle() error {
	if a.box == nil || a.box.Off() != nil {
		return nil
	}
	return a.box.Settle()
}

// warnOpen warns if commands are not confined. To find out, it may have to wait for a trial run of the sandbox.
func (a *assembly) warnOpen(warn func(text string)) {
	why := a.unconfined
	if a.box != nil {
		off := a.box.Off()
		if off == nil {
			return
		}
		why = off.Error()
	}
	warn("the agent's commands can write wherever you can: " + why)
}
