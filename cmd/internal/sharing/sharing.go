// Package sharing is about what leaves this machine, and what must not: exports with their secrets replaced, which
// sessions a first push sends, and sessions that are forgotten here, at remotes and among the agent's own files.
package sharing
