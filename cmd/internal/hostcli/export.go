package hostcli

import "tape/internal/show/prose"

// Prose returns the renderer of Markdown for export.Source.
func (Host) Prose() func(text string, lines int) string { return prose.New().Folded }
