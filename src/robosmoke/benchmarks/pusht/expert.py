"""Scripted PushT expert: plans pushes of the T block with its own quasi-static model.

The block loses all velocity in every physics step and contacts have no friction, so a push moves it
only along the contact normal, and its motion follows from the agent's path alone. The expert predicts
sequences of straight pushes, walks around the block to the first push of the best sequence, carries
it out with feedback on its depth, and plans again. Units: pixels, radians, control steps of 0.1 s.
A pose is [x, y, angle] of the block's centre of gravity (the environment reports the block's origin
instead); "local" means in the block's frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.manifest import Task
from robosmoke.schema import Episode

Array = NDArray[np.float64]

RADIUS = 15.0  # of the agent
INERTIA = 3000.0  # of the block about its centre of gravity, for unit mass
COG = np.array([0.0, 45.0])  # centre of gravity, local
BOXES = np.array([[[0.0, 15], [60, 15]], [[0, 75], [15, 45]]])  # centre and half size of bar and stem, local
OUTLINE = np.array([[-60.0, 0], [60, 0], [60, 30], [15, 30], [15, 120], [-15, 120], [-15, 30], [-60, 30]])
CORNERS = OUTLINE[[0, 1, 2, 4, 5, 7]]  # the convex ones
REACH = 76.0  # from the centre of gravity to beyond the farthest corner
WALLS = ((0, 1.0, 7.0), (0, -1.0, 504.0), (1, 1.0, 7.0), (1, -1.0, 504.0))  # axis, inward sign, coordinate
GOAL = np.array([256.0, 256.0, np.pi / 4])  # of the block's origin
LOW, HIGH = 1.0, 511.0  # where the agent may be sent
KP, KV, DT, SUBSTEPS = 100.0, 20.0, 0.01, 10  # the environment's position control of the agent

GAP, MARGIN = 6.0, 4.0  # clearance between agent and block where a push starts, and on the way there
NEAR, SLOW = 3.0, 40.0  # distance to the start and speed (px/s) at which a push may begin
GRAZE, STUCK = 3.0, 0.3  # block motion that spoils a walk, and below which a push was in vain
TILTS = np.array([-0.5, 0.0, 0.5])  # push directions relative to the inward normal
DEPTHS = np.concatenate([np.arange(0.5, 12.0), np.arange(13.0, 40.0, 2.0), np.arange(43.0, 160.0, 4.0)])
FINE_DEPTHS = np.concatenate([np.arange(0.0, 12.0, 0.5), np.arange(12.0, 170.0, 2.0)])
HORIZON, BEAM, PATIENCE = 3, 24, 30  # pushes looked ahead, partial plans kept, control steps allowed to a push
OVERHEAD, SPEED = 8.0, 40.0  # estimated control steps per push, and pixels per step of walks and pushes
TOLERANCE, NEAR_COST, FAR_COST = 0.8, 12.0, 0.15  # accepted pose error; steps expected per factor e and px of it


def rotate(vectors: Array, angle: Array) -> Array:
    """Rotate vectors [..., 2] by angle [...]."""
    c, s, x, y = np.cos(angle), np.sin(angle), vectors[..., 0], vectors[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def to_world(pose: Array, points: Array) -> Array:
    """Map local points [..., 2] to the world, for pose [..., 3]."""
    return np.asarray(rotate(points - COG, pose[..., 2]) + pose[..., :2])


def to_local(pose: Array, points: Array) -> Array:
    """Map world points [..., 2] to the block's frame, for pose [..., 3]."""
    return np.asarray(rotate(points - pose[..., :2], -pose[..., 2]) + COG)


def cog_pose(reported: Array) -> Array:
    """Convert the reported pose [3] of the block's origin to that of its centre of gravity."""
    return np.append(reported[:2] + rotate(COG, reported[2]), reported[2])


def pose_error(pose: Array, target: Array) -> Array:
    """Measure the distance [...] in pixels between poses [..., 3], rotation weighed by inertia."""
    delta = pose - target
    delta[..., 2] = np.sqrt(INERTIA) * ((delta[..., 2] + np.pi) % (2 * np.pi) - np.pi)
    return np.asarray(np.linalg.norm(delta, axis=-1))


def cost_to_go(pose: Array) -> Array:
    """Estimate the control steps [...] still needed from pose [..., 3]."""
    error = pose_error(pose, cog_pose(GOAL))
    return np.asarray(NEAR_COST * np.log(np.maximum(error / TOLERANCE, 1.0)) + FAR_COST * error)


def clearance(local: Array) -> Array:
    """Measure the distance [...] from local points [..., 2] to the block."""
    outside = np.maximum(np.abs(local[..., None, :] - BOXES[:, 0]) - BOXES[:, 1], 0.0)
    return np.asarray(np.linalg.norm(outside, axis=-1).min(axis=-1))


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
    """Simulate the agent on its way to targets [N, 2]; return positions [steps * SUBSTEPS, N, 2], end velocity."""
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
    rows = []
    for first, second in pairwise([*OUTLINE, OUTLINE[0]]):
        length = float(np.linalg.norm(second - first))
        along = (second - first) / length
        inward = np.array([-along[1], along[0]])
        offsets = np.linspace(2.0, length - 2.0, int(length // 8) + 1)
        rows += [(first + along * offset - inward * (RADIUS + GAP), inward) for offset in offsets]
    table = np.array([row for row in rows if clearance(row[0]) >= RADIUS + MARGIN])
    return table[:, 0], table[:, 1]


STARTS, NORMALS = contact_table()
NODES = np.concatenate([STARTS, CORNERS + (RADIUS + MARGIN + 1.0) * np.sign(CORNERS - [0.0, 60.0])])
FREE = segments_free(NODES[:, None], NODES[None, :])
CONTACT = np.repeat(np.arange(len(STARTS)), len(TILTS))  # row of STARTS of each of the A pushes
DIRECTION = rotate(NORMALS[CONTACT], np.tile(TILTS, len(STARTS)))  # local, of each push


def road_map(pose: Array, agent: Array) -> tuple[Array, NDArray[np.int64], Array]:
    """Link NODES and the agent [2] (last) around the block; return distances and next nodes [M, M], world nodes."""
    nodes = np.concatenate([NODES, escape_point(to_local(pose, agent))[None]])
    world = to_world(pose, nodes)
    inside = np.asarray(((world[:-1] >= LOW) & (world[:-1] <= HIGH)).all(axis=-1))
    links = segments_free(NODES, nodes[-1:]) & inside
    free = np.block([[FREE & inside[:, None] & inside, links[:, None]], [links, np.True_]])
    distance = np.where(free, np.linalg.norm(nodes[:, None] - nodes, axis=-1), np.inf)
    following = np.tile(np.arange(len(nodes)), (len(nodes), 1))
    for k in range(len(nodes)):
        through = distance[:, k, None] + distance[k]
        better = through < distance - 1e-9
        distance, following = np.where(better, through, distance), np.where(better, following[:, k, None], following)
    return distance, following, world


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


@dataclass
class Stroke:
    """Hold a planned push and how far it has come."""

    contact: int  # row of STARTS
    way: Array  # [W, 2] world points still ahead on the walk to the start
    direction: Array  # [2] in the world
    origin: Array  # [3] block pose when planned
    aim: Array  # [3] block pose after the push
    steps: int = 0  # control steps spent pushing


def plan_stroke(pose: Array, agent: Array, barred: set[int]) -> Stroke | None:
    """Search push sequences that do not begin at a barred contact; return the first push of the best one."""
    distance, following, world = road_map(pose, agent)
    poses, spent, place = pose[None], np.zeros(1), np.array([len(world) - 1])
    first, aims, aim, best, choice = place, poses, pose, np.inf, -1
    distance[-1, sorted(barred)] = np.inf
    for level in range(HORIZON):
        rolled, time = expand(poses, spent, distance[place][:, CONTACT])
        total = time + cost_to_go(rolled)
        depth, score = total.argmin(axis=0), total.min(axis=0)
        order = np.argsort(score, axis=None, kind="stable")[:BEAM]
        beam, push = np.divmod(order, len(CONTACT))
        poses, spent = rolled[depth[beam, push], beam, push], time[depth[beam, push], beam, push]
        place = CONTACT[push]
        first, aims = (push, poses) if level == 0 else (first[beam], aims[beam])
        if score[beam[0], push[0]] < best:
            best, choice, aim = score[beam[0], push[0]], int(first[0]), aims[0]
    if choice < 0:
        return None
    nodes, contact = [len(world) - 1], int(CONTACT[choice])
    while nodes[-1] != contact:
        nodes.append(int(following[nodes[-1], contact]))
    way = np.concatenate([np.linspace(world[a], world[b], 30) for a, b in pairwise(nodes)])
    return Stroke(contact, way, rotate(DIRECTION[choice], pose[2]), pose, aim)


def push_depth(stroke: Stroke, agent: Array, pose: Array) -> float:
    """Find how much farther to push so that the block comes closest to the pose aimed for."""
    rolled = roll_push(pose[None], agent[None], stroke.direction[None], FINE_DEPTHS)[:, 0]
    return float(FINE_DEPTHS[pose_error(rolled, stroke.aim).argmin()])


class PushTController:
    """Drive one episode, alternating between walking to the start of a push and pushing."""

    def __init__(self) -> None:
        """Begin with no plan and the agent at rest."""
        self.velocity = np.zeros(2)  # of the agent; the state lacks it, but it follows from the actions
        self.stroke: Stroke | None = None
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
        stroke = self.stroke
        if stroke is not None and stroke.steps:
            depth = push_depth(stroke, agent, pose)
            if depth > 0.0 and stroke.steps < PATIENCE:
                stroke.steps += 1
                return agent + stroke.direction * depth
            in_vain = pose_error(pose, stroke.origin) < STUCK
            self.barred = self.barred | {stroke.contact} if in_vain else set()
            stroke = None
        if stroke is None or pose_error(pose, stroke.origin) > GRAZE:
            stroke = self.stroke = plan_stroke(pose, agent, self.barred)
        if stroke is None:
            self.barred = set()
            return to_world(pose, escape_point(to_local(pose, agent)))
        if np.linalg.norm(agent - stroke.way[-1]) < NEAR and np.linalg.norm(self.velocity) < SLOW:
            stroke.steps = 1
            return agent + stroke.direction * push_depth(stroke, agent, pose)
        return self._walk(stroke, agent, pose)

    def _walk(self, stroke: Stroke, agent: Array, pose: Array) -> Array:
        """Pick the farthest point of the way to which the agent can be sent without touching the block."""
        paths, _ = predict_agent(agent, self.velocity, stroke.way, 8)
        limit = min(RADIUS + 1.0, float(clearance(to_local(pose, agent))) - 0.5)
        safe = np.flatnonzero(clearance(to_local(pose, paths)).min(axis=0) >= limit)
        stroke.way = stroke.way[safe[-1] if len(safe) else 0 :]
        return np.asarray(stroke.way[0])


class PushTExpert:
    """Provide a fresh controller per episode; the expert itself has no state."""

    name = "expert"
    observation_keys = ("state",)

    def __init__(self, task: Task) -> None:
        """Accept the benchmark's only task."""

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> PushTController:
        """Begin an episode; the expert acts on what it sees and needs nothing of the episode."""
        return PushTController()
