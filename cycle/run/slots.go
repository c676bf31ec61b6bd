package run

import "slices"

// SlotsDefault is how many runs may be active at once in a workspace.
const SlotsDefault = 10

// Slots hands out the places for active runs, first come, first served. Its
// zero value has none; use NewSlots. It is pure: callers lock it.
type Slots struct {
	max     int
	active  []string
	waiting []string
}

// NewSlots is max free places.
func NewSlots(max int) *Slots { return &Slots{max: max} }

// Acquire gives a run a place (0) or its position in the queue, from 1.
// Asking twice is asking once.
func (s *Slots) Acquire(run string) (position int) {
	if slices.Contains(s.active, run) {
		return 0
	}
	if len(s.active) < s.max && len(s.waiting) == 0 {
		s.active = append(s.active, run)
		return 0
	}
	if i := slices.Index(s.waiting, run); i >= 0 {
		return i + 1
	}
	s.waiting = append(s.waiting, run)
	return len(s.waiting)
}

// Release gives a run's place back and tells which runs have one now.
func (s *Slots) Release(run string) (granted []string) {
	drop := func(list []string) []string {
		return slices.DeleteFunc(list, func(x string) bool { return x == run })
	}
	s.active, s.waiting = drop(s.active), drop(s.waiting)
	for len(s.active) < s.max && len(s.waiting) > 0 {
		granted = append(granted, s.waiting[0])
		s.active = append(s.active, s.waiting[0])
		s.waiting = s.waiting[1:]
	}
	return granted
}

// Position is 0 for an active or unknown run.
func (s *Slots) Position(run string) int { return slices.Index(s.waiting, run) + 1 }
