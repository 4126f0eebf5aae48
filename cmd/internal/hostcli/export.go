package hostcli

import "tape/internal/show/prose"

// Prose makes HTML of Markdown.
func (Host) Prose() func(text string, lines int) string { return prose.New().Folded }
