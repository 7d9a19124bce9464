"""Scripted PushT expert: plans short pushes with its own quasi-static model of the T block.

In this environment the block loses all velocity in every physics step and contacts have no
friction, so a push moves the block only along the contact normal. That makes the block's motion
a function of the agent's path alone, which a few lines of numpy predict for many pushes at once.
The expert searches sequences of straight pushes, walks around the block to the start of the
first one, carries it out with feedback on the push depth, and plans again.

Units: pixels, radians, and control steps of 0.1 s. A pose is [x, y, angle] of the block's centre
of gravity (not of the block's origin, which the environment reports); "local" is the block's frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.manifest import Task
from robosmoke.schema import Episode

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RADIUS = 15.0  # of the agent
INERTIA = 3000.0  # of the block about its centre of gravity, for unit mass
COG = np.array([0.0, 45.0])  # centre of gravity, local
BOXES = np.array([[[0, 15], [60, 15]], [[0, 75], [15, 45]]], dtype=np.float64)  # centre, half size of bar and stem
OUTLINE = np.array(
    [[-60, 0], [60, 0], [60, 30], [15, 30], [15, 120], [-15, 120], [-15, 30], [-60, 30]], dtype=np.float64
)
CORNERS = OUTLINE[[0, 1, 2, 4, 5, 7]]  # the convex ones
REACH = 76.0  # from the centre of gravity to beyond the farthest corner
WALLS = ((0, 1.0, 7.0), (0, -1.0, 504.0), (1, 1.0, 7.0), (1, -1.0, 504.0))  # axis, inward sign, coordinate
LOW, HIGH = 1.0, 511.0  # where the agent may be sent
KP, KV, DT, SUBSTEPS = 100.0, 20.0, 0.01, 10  # the environment's position control of the agent

GAP = 6.0  # clearance between agent and block where a push starts
MARGIN = 4.0  # clearance kept on the way around the block
GRAZE = 3.0  # block motion during a walk that triggers a new plan
TILTS = np.array([-0.5, 0.0, 0.5])  # push directions relative to the inward normal
DEPTHS = np.concatenate([np.arange(0.5, 12.0), np.arange(13.0, 40.0, 2.0), np.arange(43.0, 160.0, 4.0)])
FINE_DEPTHS = np.concatenate([np.arange(0.0, 12.0, 0.5), np.arange(12.0, 170.0, 2.0)])
HORIZON = 3  # pushes looked ahead
BEAM = 24  # partial plans kept between two pushes
PATIENCE = 30  # control steps after which a push is given up
SPEED = 40.0  # pixels per control step, to estimate the time of walks and pushes
OVERHEAD = 8.0  # control steps that each push costs besides
TOLERANCE = 0.8  # pose error at which the block counts as placed
NEAR_COST, FAR_COST = 12.0, 0.15  # expected control steps per factor e, and per pixel, of pose error


def rotate(vectors: Array, angle: Array) -> Array:
    """Rotate vectors [..., 2] by angle [...]."""
    c, s, x, y = np.cos(angle), np.sin(angle), vectors[..., 0], vectors[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def to_world(pose: Array, points: Array) -> Array:
    """Map local points [..., 2] to the world, for pose [..., 3]."""
    return rotate(points - COG, pose[..., 2]) + pose[..., :2]


def to_local(pose: Array, points: Array) -> Array:
    """Map world points [..., 2] to the block's frame, for pose [..., 3]."""
    return rotate(points - pose[..., :2], -pose[..., 2]) + COG


def cog_pose(reported: Array) -> Array:
    """Convert the reported pose [3] of the block's origin to that of its centre of gravity."""
    return np.append(reported[:2] + rotate(COG, reported[2]), reported[2])


GOAL = cog_pose(np.array([256.0, 256.0, np.pi / 4]))


def pose_error(pose: Array, target: Array) -> Array:
    """Measure the distance [...] in pixels between poses [..., 3], rotation weighed by inertia."""
    delta = pose - target
    delta[..., 2] = np.sqrt(INERTIA) * ((delta[..., 2] + np.pi) % (2 * np.pi) - np.pi)
    return np.asarray(np.linalg.norm(delta, axis=-1))


def cost_to_go(pose: Array) -> Array:
    """Estimate the control steps [...] still needed from pose [..., 3]."""
    error = pose_error(pose, GOAL)
    return np.asarray(NEAR_COST * np.log(np.maximum(error / TOLERANCE, 1.0)) + FAR_COST * error)


def clearance(local: Array) -> Array:
    """Measure the distance [...] from local points [..., 2] to the block."""
    distances = [np.linalg.norm(np.maximum(np.abs(local - centre) - half, 0.0), axis=-1) for centre, half in BOXES]
    return np.minimum(distances[0], distances[1])


def escape_point(local: Array) -> Array:
    """Move a local point [2] outward until it keeps the walking clearance."""
    for _ in range(6):
        for centre, half in BOXES:
            away = local - centre - np.clip(local - centre, -half, half)
            distance = max(float(np.linalg.norm(away)), 1e-6)
            local = local + away / distance * max(RADIUS + MARGIN + 0.1 - distance, 0.0)
    return local


def shift_block(pose: Array, arm: Array, normal: Array, depth: Array) -> None:
    """Move blocks at pose [N, 3], in place, by depth [N] along the normals [N, 2] at arms [N, 2] from the centre."""
    torque = arm[:, 0] * normal[:, 1] - arm[:, 1] * normal[:, 0]
    impulse = np.maximum(depth, 0.0) / (1.0 + torque**2 / INERTIA)
    pose += np.concatenate([normal, torque[:, None] / INERTIA], axis=1) * impulse[:, None]


def press_agents(pose: Array, agent: Array) -> None:
    """Move blocks at pose [N, 3], in place, out of the agents at [N, 2]."""
    for centre, half in BOXES:
        local = to_local(pose, agent)
        contact = centre + np.clip(local - centre, -half, half)
        distance = np.maximum(np.linalg.norm(contact - local, axis=-1), 1e-6)
        normal = rotate((contact - local) / distance[:, None], pose[:, 2])
        shift_block(pose, rotate(contact - COG, pose[:, 2]), normal, RADIUS - distance)


def press_walls(pose: Array) -> None:
    """Move blocks at pose [N, 3], in place, out of each wall by their deepest corners."""
    for axis, sign, wall in WALLS:
        near = np.flatnonzero(sign * (pose[:, axis] - wall) < REACH)
        part = pose[near]
        corners = to_world(part[:, None], CORNERS)
        corner = corners[np.arange(len(near)), (sign * corners[..., axis]).argmin(axis=1)]
        normal = np.tile(sign * np.eye(2)[axis], (len(near), 1))
        shift_block(part, corner - part[:, :2], normal, sign * (wall - corner[:, axis]))
        pose[near] = part


def roll_push(pose: Array, agent: Array, direction: Array, depths: Array) -> Array:
    """Predict block poses [D, N, 3] while agents [N, 2] advance to depths [D] along direction [N, 2]."""
    history, pose = [], pose.copy()
    for depth in depths:
        press_agents(pose, agent + direction * depth)
        if (np.abs(pose[:, :2] - 256.0) > 248.0 - REACH).any():
            press_walls(pose)
            press_agents(pose, agent + direction * depth)
            press_walls(pose)
        history.append(pose.copy())
    return np.stack(history)


def predict_agent(position: Array, velocity: Array, targets: Array, steps: int) -> tuple[Array, Array]:
    """Simulate the agent's control to targets [N, 2]; return paths [steps * SUBSTEPS, N, 2] and end velocity [N, 2]."""
    path = []
    for _ in range(steps * SUBSTEPS):
        velocity = velocity + (KP * (targets - position) - KV * velocity) * DT
        position = position + velocity * DT
        path.append(position)
    return np.stack(path), velocity


def segments_free(starts: Array, ends: Array) -> NDArray[np.bool_]:
    """Tell [...] which straight walks between local points [..., 2] keep clear of the block."""
    samples = starts[..., None, :] + (ends - starts)[..., None, :] * np.linspace(0.0, 1.0, 41)[:, None]
    return np.asarray(clearance(samples).min(axis=-1) >= RADIUS + MARGIN - 0.5)


def contact_table() -> tuple[Array, Array]:
    """List local push starts [C, 2] around the T and the inward normals [C, 2] there."""
    starts, normals = [], []
    for first, second in zip(OUTLINE, np.roll(OUTLINE, -1, axis=0), strict=True):
        length = float(np.linalg.norm(second - first))
        along = (second - first) / length
        inward = np.array([-along[1], along[0]])
        for offset in np.linspace(2.0, length - 2.0, int(length // 8) + 1):
            start = first + along * offset - inward * (RADIUS + GAP)
            if clearance(start) >= RADIUS + MARGIN:
                starts.append(start)
                normals.append(inward)
    return np.array(starts), np.array(normals)


STARTS, NORMALS = contact_table()
NODES = np.concatenate([STARTS, CORNERS + (RADIUS + MARGIN + 1.0) * np.sign(CORNERS - [0.0, 60.0])])
FREE = segments_free(NODES[:, None], NODES[None, :])
CONTACT = np.repeat(np.arange(len(STARTS)), len(TILTS))  # row of STARTS of each of the A pushes
DIRECTION = rotate(NORMALS[CONTACT], np.tile(TILTS, len(STARTS)))  # local, of each push


def shortest_paths(lengths: Array) -> tuple[Array, Indices]:
    """Solve all-pairs shortest paths for lengths [M, M]; return distances and next nodes [M, M]."""
    distance = lengths.copy()
    following = np.tile(np.arange(len(lengths)), (len(lengths), 1))
    for k in range(len(lengths)):
        through = distance[:, k, None] + distance[None, k, :]
        better = through < distance - 1e-9
        distance = np.where(better, through, distance)
        following = np.where(better, following[:, k, None], following)
    return distance, following


def road_map(pose: Array, agent: Array) -> tuple[Array, Indices, Array]:
    """Link NODES and the agent [2] (as last node) around the block; return shortest_paths and world nodes [M, 2]."""
    nodes = np.concatenate([NODES, escape_point(to_local(pose, agent))[None]])
    world = to_world(pose, nodes)
    inside = ((world >= LOW) & (world <= HIGH)).all(axis=-1)
    inside[-1] = True
    free = np.pad(FREE, (0, 1))
    free[-1] = free[:, -1] = segments_free(nodes, nodes[-1:])
    free &= inside[:, None] & inside[None, :]
    lengths = np.where(free, np.linalg.norm(nodes[:, None] - nodes[None], axis=-1), np.inf)
    np.fill_diagonal(lengths, 0.0)
    return *shortest_paths(lengths), world


def expand(poses: Array, spent: Array, walks: Array) -> tuple[Array, Array]:
    """Try all A pushes from poses [B, 3] after spent [B] steps and walks [B, A]; return poses [D, B, A, 3], times."""
    pose = np.repeat(poses, len(CONTACT), axis=0)
    agent = to_world(pose, np.tile(STARTS[CONTACT], (len(poses), 1)))
    heading = rotate(np.tile(DIRECTION, (len(poses), 1)), pose[:, 2])
    rolled = roll_push(pose, agent, heading, GAP + DEPTHS)
    ends = agent + heading * (GAP + DEPTHS)[:, None, None]
    reachable = ((np.minimum(agent, ends) >= LOW) & (np.maximum(agent, ends) <= HIGH)).all(axis=-1)
    time = spent[:, None] + OVERHEAD + (walks + DEPTHS[:, None, None]) / SPEED
    return rolled.reshape(*time.shape, 3), np.where(reachable.reshape(time.shape), time, np.inf)


@dataclass(frozen=True)
class Stroke:
    """Hold a planned push: row of STARTS, world way [W, 2] there, direction [2], and the block pose [3] aimed for."""

    contact: int
    way: Array
    direction: Array
    aim: Array


def plan_stroke(pose: Array, agent: Array, barred: set[int]) -> Stroke | None:
    """Search push sequences that do not begin at a barred contact; return the first push of the best one."""
    distance, following, world = road_map(pose, agent)
    poses, spent, place = pose[None], np.zeros(1), np.array([len(world) - 1])
    first, aims, best, choice = np.zeros(1, np.int64), poses, np.inf, None
    for level in range(HORIZON):
        walks = distance[place][:, CONTACT]
        if level == 0:
            walks[:, np.isin(CONTACT, sorted(barred))] = np.inf
        rolled, time = expand(poses, spent, walks)
        total = time + cost_to_go(rolled)
        depth, score = total.argmin(axis=0), total.min(axis=0)
        order = np.argsort(score, axis=None, kind="stable")[:BEAM]
        beam, push = np.divmod(order[np.isfinite(score.flat[order])], len(CONTACT))
        if len(push) == 0:
            break
        poses, spent = rolled[depth[beam, push], beam, push], time[depth[beam, push], beam, push]
        place = CONTACT[push]
        first, aims = (push, poses) if level == 0 else (first[beam], aims[beam])
        if score[beam[0], push[0]] < best:
            best, choice = score[beam[0], push[0]], (int(first[0]), aims[0])
    if choice is None:
        return None
    nodes, contact = [len(world) - 1], int(CONTACT[choice[0]])
    while nodes[-1] != contact:
        nodes.append(int(following[nodes[-1], contact]))
    return Stroke(contact, world[nodes], rotate(DIRECTION[choice[0]], pose[2]), choice[1])


class PushTController:
    """Drive one episode, alternating between walking to the start of a push and pushing."""

    def __init__(self) -> None:
        """Begin with no plan and the agent at rest."""
        self.velocity = np.zeros(2)  # of the agent; the state lacks it, but it follows from the actions
        self.stroke: Stroke | None = None
        self.push_steps = 0  # control steps of the current push, 0 while walking
        self.way = np.zeros((0, 2))  # points still ahead on the walk
        self.planned_at = np.zeros(3)  # block pose when the stroke was planned
        self.barred: set[int] = set()  # contacts whose pushes left the block where it is

    def act(self, observation: dict[str, Array]) -> NDArray[np.float32]:
        """Return the agent's next target [1, 2] for observation["state"] [5]."""
        state = np.asarray(observation["state"], dtype=np.float64)
        target = self._target(state[:2], cog_pose(state[2:]))
        action = np.clip(target, 0.0, 512.0).astype(np.float32)
        self.velocity = predict_agent(state[:2], self.velocity, action.astype(np.float64), 1)[1]
        return action[None]

    def _target(self, agent: Array, pose: Array) -> Array:
        """Choose where to send the agent [2] now, with the block at pose [3]."""
        if self.push_steps:
            depth = self._push_depth(agent, pose)
            if depth > 0.0 and self.push_steps < PATIENCE:
                return self._push(agent, depth)
            self._finish(pose)
        if self.stroke is None or pose_error(pose, self.planned_at) > GRAZE:
            self._plan(agent, pose)
        if self.stroke is None:
            return to_world(pose, escape_point(to_local(pose, agent)))
        if np.linalg.norm(agent - self.stroke.way[-1]) < 3.0 and np.linalg.norm(self.velocity) < 40.0:
            return self._push(agent, self._push_depth(agent, pose))
        return self._walk(agent, pose)

    def _plan(self, agent: Array, pose: Array) -> None:
        """Plan the next push and lay out the way to it in points at most 4 px apart."""
        self.stroke, self.planned_at = plan_stroke(pose, agent, self.barred), pose
        if self.stroke is None:
            self.barred.clear()
            return
        pieces = [self.stroke.way[:1]]
        for start, end in zip(self.stroke.way[:-1], self.stroke.way[1:], strict=True):
            count = int(np.ceil(float(np.linalg.norm(end - start)) / 4.0))
            pieces.append(start + (end - start) * np.linspace(0.0, 1.0, count + 1)[1:, None])
        self.way = np.concatenate(pieces)

    def _walk(self, agent: Array, pose: Array) -> Array:
        """Pick the farthest point of the way to which the agent can be sent without touching the block."""
        paths, _ = predict_agent(agent, self.velocity, self.way, 8)
        limit = min(RADIUS + 1.0, float(clearance(to_local(pose, agent))) - 0.5)
        safe = np.flatnonzero(clearance(to_local(pose, paths)).min(axis=0) >= limit)
        self.way = self.way[safe[-1] if len(safe) else 0 :]
        return np.asarray(self.way[0])

    def _push(self, agent: Array, depth: float) -> Array:
        """Send the agent [2] to push to depth along the stroke."""
        assert self.stroke is not None
        self.push_steps += 1
        return np.asarray(agent + self.stroke.direction * depth)

    def _push_depth(self, agent: Array, pose: Array) -> float:
        """Find how much farther to push so that the block comes closest to the pose aimed for."""
        assert self.stroke is not None
        rolled = roll_push(pose[None], agent[None], self.stroke.direction[None], FINE_DEPTHS)[:, 0]
        return float(FINE_DEPTHS[pose_error(rolled, self.stroke.aim).argmin()])

    def _finish(self, pose: Array) -> None:
        """End the push, and bar its contact until some push moves the block again."""
        assert self.stroke is not None
        if pose_error(pose, self.planned_at) > 0.3:
            self.barred.clear()
        else:
            self.barred.add(self.stroke.contact)
        self.stroke, self.push_steps = None, 0


class PushTExpert:
    """Provide a fresh controller per episode; the expert itself has no state."""

    name = "expert"
    observation_keys = ("state",)

    def __init__(self, task: Task) -> None:
        """Accept the benchmark's only task."""

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> PushTController:
        """Begin an episode; the expert acts on what it sees and needs nothing of the episode."""
        return PushTController()
