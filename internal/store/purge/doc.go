// Package purge removes texts from a tape's history for good.
package purge
