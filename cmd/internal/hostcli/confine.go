package hostcli

import (
	"cmp"
	"errors"
	"os"
	"os/exec"

	"tape/internal/agent/keys"
	"tape/internal/agent/sandbox"
)

// confine returns the function that puts a command of the agent into a sandbox; nil if the setting is off. If there is
// no sandbox here, the function changes nothing (auto), or refuses the command (on).
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
	go func() { _ = a.box.Off() }() // starts the trial run whose result warnOpen needs
	return func(cmd *exec.Cmd) error {
		if off := a.box.Off(); off != nil && mode == "auto" {
			return nil
		} else if off != nil {
			return errors.Join(off, errors.New("tape config sandbox auto lets commands run without a sandbox"))
		}
		return a.box.Confine(cmd)
	}, nil
}

// settle is called about confined commands, see [sandbox.Sandbox.Settle].
func (a *assembly) settle(ended bool) error {
	if a.box == nil || a.box.Off() != nil {
		return nil
	}
	return a.box.Settle(ended)
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
