package snapshot

import (
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// converted returns *workspace.ConvertedError if a file differs from its committed content by its line ends.
func (v *Snapshot) converted(p layout.Phase, file string, data, blob []byte) error {
	if v.tape == nil {
		return nil
	}
	if _, ok := layout.Unconverted(data, blob); !ok {
		return nil
	}
	return &workspace.ConvertedError{Tape: v.tape, File: v.Path(p, file)}
}
