// Package outgoing searches what is about to leave the workspace for secrets.
package outgoing
