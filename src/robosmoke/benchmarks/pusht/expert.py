"""Scripted PushT expert: plans short pushes with its own quasi-static model of the T block.

In this environment the block loses all velocity in every physics step and contacts have no
friction, so a push moves the block only along the contact normal. That makes the block's motion
a function of the agent's path alone, which a few lines of numpy predict for many pushes at once.
The expert searches sequences of straight pushes, walks around the block to the first one,
carries it out with feedback on the push depth, and plans again.

Units: pixels, radians, and control steps of 0.1 s. A pose is [x, y, angle] of the block's centre
of gravity (not of the block's origin, which the environment reports).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

RADIUS = 15.0  # of the agent
INERTIA = 3000.0  # of the block about its centre of gravity, for unit mass
COG = np.array([0.0, 45.0])  # centre of gravity in the block's frame
BOXES = (  # (centre, half extent) of bar and stem in the block's frame
    (np.array([0.0, 15.0]), np.array([60.0, 15.0])),
    (np.array([0.0, 75.0]), np.array([15.0, 45.0])),
)
OUTLINE = np.array(  # corners of the T in the block's frame, interior on the left of each edge
    [[-60, 0], [60, 0], [60, 30], [15, 30], [15, 120], [-15, 120], [-15, 30], [-60, 30]], dtype=np.float64
)
CORNERS = OUTLINE[[0, 1, 2, 4, 5, 7]]  # the convex ones
REACH = 76.0  # from the centre of gravity to the farthest corner
GOAL_ORIGIN = np.array([256.0, 256.0, np.pi / 4])
LOW, HIGH = 1.0, 511.0  # where the agent may be sent
WALL_LOW, WALL_HIGH = 7.0, 504.0  # inner faces of the walls
KP, KV, DT, SUBSTEPS = 100.0, 20.0, 0.01, 10  # the environment's position control

GAP = 6.0  # clearance of the point from which a push starts
MARGIN = 4.0  # clearance kept on the way around the block
TILTS = (-0.5, 0.0, 0.5)  # push directions relative to the inward normal
DEPTHS = np.concatenate([np.arange(1.0, 12.0), np.arange(13.0, 40.0, 2.0), np.arange(43.0, 160.0, 4.0)])
BEAM = 24  # partial plans kept between two pushes
HORIZON = 3  # pushes looked ahead
LOG_WEIGHT = 12.0  # control steps judged equal to a factor e in the remaining error
TOLERANCE = 1.5  # pose error at which the block counts as placed
GRAZE = 3.0  # block motion during an approach that triggers a new plan


def rotate(vectors: Array, angle: Array | float) -> Array:
    """Rotate vectors [..., 2] by angle [...]."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def to_world(pose: Array, points: Array) -> Array:
    """Map points [..., 2] of the block's frame to the world, for pose [..., 3]."""
    return rotate(points - COG, pose[..., 2]) + pose[..., :2]


def to_block(pose: Array, points: Array) -> Array:
    """Map world points [..., 2] to the block's frame, for pose [..., 3]."""
    return rotate(points - pose[..., :2], -pose[..., 2]) + COG


def cog_pose(origin_pose: Array) -> Array:
    """Convert the pose [3] of the block's origin to that of its centre of gravity."""
    shift = rotate(COG, origin_pose[2])
    return np.array([origin_pose[0] + shift[0], origin_pose[1] + shift[1], origin_pose[2]])


GOAL = cog_pose(GOAL_ORIGIN)


def pose_error(pose: Array, target: Array) -> Array:
    """Measure the distance [...] in pixels between poses [..., 3], rotation weighed by inertia."""
    delta = pose - target
    turn = (delta[..., 2] + np.pi) % (2 * np.pi) - np.pi
    return np.sqrt(delta[..., 0] ** 2 + delta[..., 1] ** 2 + INERTIA * turn**2)


def clearance(local: Array) -> Array:
    """Measure the distance [...] from points [..., 2] in the block's frame to the block."""
    distances = [np.linalg.norm(np.maximum(np.abs(local - c) - h, 0.0), axis=-1) for c, h in BOXES]
    return np.minimum(distances[0], distances[1])


def escape_point(local: Array) -> Array:
    """Move a point [2] in the block's frame outward until it keeps the walking clearance."""
    point = local.copy()
    for _ in range(6):
        for centre, half in BOXES:
            away = point - (np.clip(point - centre, -half, half) + centre)
            distance = float(np.linalg.norm(away))
            if 1e-9 < distance < RADIUS + MARGIN:
                point = point + away / distance * (RADIUS + MARGIN + 0.1 - distance)
    return point


def shift_block(pose: Array, arm: Array, normal: Array, depth: Array) -> None:
    """Move blocks at pose [N, 3], in place, by depth [N] along normal [N, 2] at arm [N, 2] (world axes)."""
    torque = arm[:, 0] * normal[:, 1] - arm[:, 1] * normal[:, 0]
    impulse = depth / (1.0 + torque**2 / INERTIA)
    pose[:, :2] += normal * impulse[:, None]
    pose[:, 2] += torque / INERTIA * impulse


def press_on_walls(pose: Array) -> None:
    """Move blocks at pose [N, 3], in place, out of the walls by their deepest corners."""
    for axis, side, wall in ((0, 1.0, WALL_LOW), (0, -1.0, WALL_HIGH), (1, 1.0, WALL_LOW), (1, -1.0, WALL_HIGH)):
        near = np.flatnonzero(side * (pose[:, axis] - wall) < REACH)
        if len(near):
            part = pose[near]
            corners = to_world(part[:, None], CORNERS)
            deepest = (side * corners[..., axis]).argmin(axis=1)
            corner = corners[np.arange(len(near)), deepest]
            normal = np.zeros_like(corner)
            normal[:, axis] = side
            shift_block(part, corner - part[:, :2], normal, np.maximum(side * (wall - corner[:, axis]), 0.0))
            pose[near] = part


def push_block(pose: Array, agent: Array) -> Array:
    """Move blocks at pose [N, 3] out of the agents at [N, 2], each along its contact normal."""
    pose = pose.copy()
    walled = bool((np.abs(pose[:, :2] - 256.0) > 256.0 - WALL_LOW - REACH).any())
    for _ in range(2 if walled else 1):
        for centre, half in BOXES:
            local = to_block(pose, agent)
            nearest = np.clip(local - centre, -half, half) + centre
            normal = nearest - local
            distance = np.maximum(np.sqrt((normal**2).sum(-1)), 1e-6)
            normal = rotate(normal / distance[:, None], pose[:, 2])
            shift_block(pose, rotate(nearest - COG, pose[:, 2]), normal, np.maximum(RADIUS - distance, 0.0))
        if walled:
            press_on_walls(pose)
    return pose


def roll_push(pose: Array, agent: Array, direction: Array, depths: Array) -> Array:
    """Predict block poses [D, N, 3] while agents [N, 2] advance to depths [D] along direction [N, 2]."""
    history = []
    for depth in depths:
        pose = push_block(pose, agent + direction * depth)
        history.append(pose)
    return np.stack(history)


def wall_overlap(pose: Array) -> Array:
    """Measure how far [...] blocks at pose [..., 3] reach into the walls."""
    corners = to_world(pose[..., None, :], CORNERS)
    return np.maximum(WALL_LOW - corners, corners - WALL_HIGH).max(axis=(-1, -2)).clip(0.0)


def predict_agent(position: Array, velocity: Array, targets: Array, steps: int) -> tuple[Array, Array]:
    """Simulate position control to targets [N, 2]; return paths [steps * SUBSTEPS, N, 2] and velocity."""
    position = np.broadcast_to(position, targets.shape).copy()
    velocity = np.broadcast_to(velocity, targets.shape).copy()
    path = []
    for _ in range(steps * SUBSTEPS):
        velocity = velocity + (KP * (targets - position) - KV * velocity) * DT
        position = position + velocity * DT
        path.append(position)
    return np.stack(path), velocity


def segments_free(starts: Array, ends: Array) -> BoolArray:
    """Tell [...] which segments between points [..., 2] of the block's frame keep clear of the block."""
    fractions = np.linspace(0.0, 1.0, 41)[:, None]
    samples = starts[..., None, :] + (ends - starts)[..., None, :] * fractions
    return clearance(samples).min(axis=-1) >= RADIUS + MARGIN - 0.5


def contact_table() -> tuple[Array, Array]:
    """List push starts [C, 2] and inward normals [C, 2] around the T, in the block's frame."""
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
COUNT = len(STARTS)
NODES = np.concatenate([STARTS, CORNERS + (RADIUS + MARGIN + 1.0) * np.sign(CORNERS - [0.0, 60.0])])
FREE = segments_free(NODES[:, None], NODES[None, :])
ACTION_CONTACT = np.repeat(np.arange(COUNT), len(TILTS))  # contact of each push in the table
ACTION_DIRECTION = rotate(NORMALS[ACTION_CONTACT], np.tile(np.array(TILTS), COUNT))


def shortest_paths(lengths: Array) -> tuple[Array, NDArray[np.int64]]:
    """Solve all-pairs shortest paths for lengths [M, M]; return distances and next hops [M, M]."""
    distance = lengths.copy()
    hop = np.broadcast_to(np.arange(len(lengths)), lengths.shape).copy()
    for k in range(len(lengths)):
        through = distance[:, k, None] + distance[None, k, :]
        better = through < distance - 1e-9
        distance = np.where(better, through, distance)
        hop = np.where(better, hop[:, k, None], hop)
    return distance, hop


def road_map(pose: Array, agent: Array) -> tuple[Array, NDArray[np.int64], Array]:
    """Connect all push starts and the agent (last node) around the block at pose [3]."""
    nodes = np.concatenate([NODES, escape_point(to_block(pose, agent))[None]])
    world = to_world(pose, nodes)
    inside = ((world >= LOW) & (world <= HIGH)).all(-1)
    inside[-1] = True
    free = np.zeros((len(nodes), len(nodes)), dtype=np.bool_)
    free[:-1, :-1] = FREE
    free[-1] = free[:, -1] = segments_free(nodes, np.broadcast_to(nodes[-1], nodes.shape))
    free &= inside[:, None] & inside[None, :]
    lengths = np.where(free, np.linalg.norm(nodes[:, None] - nodes[None], axis=-1), np.inf)
    np.fill_diagonal(lengths, 0.0)
    distance, hop = shortest_paths(lengths)
    return distance, hop, world


@dataclass(frozen=True)
class Stroke:
    """Hold one planned push: way [W, 2] to its start, direction [2] and the pose [3] it aims for."""

    way: Array
    direction: Array
    aim: Array


def cost_to_go(pose: Array) -> Array:
    """Estimate the control steps [...] still needed from pose [..., 3]."""
    return LOG_WEIGHT * np.log(np.maximum(pose_error(pose, GOAL) / TOLERANCE, 1.0))


def expand(poses: Array, spent: Array, places: NDArray[np.int64], distance: Array) -> tuple[Array, Array]:
    """Try all pushes from B partial plans; return poses [D, B, A, 3] and time spent [D, B, A]."""
    beams, actions = len(poses), len(ACTION_CONTACT)
    pose = np.repeat(poses, actions, axis=0)
    agent = to_world(pose, np.tile(STARTS[ACTION_CONTACT], (beams, 1)))
    heading = rotate(np.tile(ACTION_DIRECTION, (beams, 1)), pose[:, 2])
    rolled = roll_push(pose, agent, heading, GAP + DEPTHS)
    last = agent + heading * (GAP + DEPTHS)[:, None, None]
    bad = (wall_overlap(rolled) > wall_overlap(pose) + 0.5) | ((last < LOW) | (last > HIGH)).any(-1)
    bad |= ((agent < LOW) | (agent > HIGH)).any(-1)
    walk = distance[places][:, ACTION_CONTACT].reshape(-1)
    time = np.repeat(spent, actions) + 8.0 + walk / 40.0 + DEPTHS[:, None] / 40.0
    time = np.where(bad, np.inf, time)
    return rolled.reshape(-1, beams, actions, 3), time.reshape(-1, beams, actions)


def plan_stroke(pose: Array, agent: Array) -> Stroke | None:
    """Search push sequences from pose [3] with the agent at [2]; return the first push of the best."""
    distance, hop, world = road_map(pose, agent)
    poses, spent, places = pose[None], np.zeros(1), np.array([len(distance) - 1])
    firsts: list[tuple[int, Array]] = []
    best, choice = np.inf, None
    for level in range(HORIZON):
        rolled, time = expand(poses, spent, places, distance)
        total = time + cost_to_go(rolled)
        depth = total.argmin(axis=0)  # [B, A]
        flat = np.take_along_axis(total, depth[None], axis=0)[0].reshape(-1)
        order = np.argsort(flat, kind="stable")[:BEAM]
        order = order[np.isfinite(flat[order])]
        if len(order) == 0:
            break
        beam, action = np.divmod(order, len(ACTION_CONTACT))
        picked = depth[beam, action]
        parents = firsts
        poses, spent = rolled[picked, beam, action], time[picked, beam, action]
        places = ACTION_CONTACT[action]
        firsts = [(int(a), p) for a, p in zip(action, poses, strict=True)]
        if level > 0:
            firsts = [parents[b] for b in beam]
        if flat[order[0]] < best:
            best, choice = float(flat[order[0]]), firsts[0]
    if choice is None:
        return None
    nodes, goal = [len(distance) - 1], int(ACTION_CONTACT[choice[0]])
    while nodes[-1] != goal:
        nodes.append(int(hop[nodes[-1], goal]))
    return Stroke(world[nodes], rotate(ACTION_DIRECTION[choice[0]], pose[2]), choice[1])


class PushTController:
    """Drive one episode; it alternates between walking to a push and pushing."""

    def __init__(self) -> None:
        """Begin with no plan and the agent at rest."""
        self.velocity = np.zeros(2)
        self.stroke: Stroke | None = None
        self.pushing = False
        self.way = np.zeros((0, 2))
        self.planned_at = np.zeros(3)

    def act(self, observation: dict[str, NDArray[np.float64]]) -> NDArray[np.float32]:
        """Return the next target [1, 2] for the agent from observation["state"] [5]."""
        state = np.asarray(observation["state"], dtype=np.float64)
        agent, pose = state[:2], cog_pose(state[2:5])
        target = self._target(agent, pose)
        action = np.clip(target, 0.0, 512.0).astype(np.float32)
        _, velocity = predict_agent(agent, self.velocity, action[None].astype(np.float64), 1)
        self.velocity = velocity[0]
        return action[None]

    def _target(self, agent: Array, pose: Array) -> Array:
        """Choose where to send the agent [2] now, with the block at pose [3]."""
        for _ in range(2):
            if self.stroke is None or (not self.pushing and pose_error(pose, self.planned_at) > GRAZE):
                self._replan(agent, pose)
            if self.stroke is None:
                return to_world(pose, escape_point(to_block(pose, agent)))
            if not self.pushing:
                offset = float(np.linalg.norm(agent - self.stroke.way[-1]))
                self.pushing = offset < 3.0 and float(np.linalg.norm(self.velocity)) < 40.0
            if not self.pushing:
                return self._walk(agent, pose)
            depth = self._push_depth(agent, pose)
            if depth > 0.0:
                return agent + self.stroke.direction * depth
            self.stroke = None
        return agent

    def _replan(self, agent: Array, pose: Array) -> None:
        """Plan the next push and lay out the way to it as points about 4 px apart."""
        self.stroke, self.pushing, self.planned_at = plan_stroke(pose, agent), False, pose
        if self.stroke is not None:
            way = self.stroke.way
            pieces = [way[:1]]
            for a, b in zip(way[:-1], way[1:], strict=True):
                count = int(np.ceil(float(np.linalg.norm(b - a)) / 4.0)) + 1
                pieces.append(a + (b - a) * np.linspace(0.0, 1.0, count)[1:, None])
            self.way = np.concatenate(pieces)

    def _walk(self, agent: Array, pose: Array) -> Array:
        """Pick the farthest point of the way that the agent can be sent to without touching the block."""
        paths, _ = predict_agent(agent, self.velocity, self.way, 8)
        limit = min(RADIUS + 1.0, float(clearance(to_block(pose, agent))) - 0.5)
        safe = np.flatnonzero(clearance(to_block(pose, paths)).min(axis=0) >= limit)
        index = int(safe[-1]) if len(safe) else 0
        self.way = self.way[index:]
        return self.way[0]

    def _push_depth(self, agent: Array, pose: Array) -> float:
        """Find how much farther to push so that the block comes closest to the aimed pose."""
        assert self.stroke is not None
        depths = np.arange(0.0, 200.0, 0.5)
        rolled = roll_push(pose[None], agent[None], self.stroke.direction[None], depths)[:, 0]
        best = int(pose_error(rolled, self.stroke.aim).argmin())
        return float(depths[best])


class PushTExpert:
    """Provide one fresh controller per episode; the expert itself has no state."""

    name = "expert"
    observation_keys = ("state",)

    def start(self, episode: object) -> PushTController:
        """Start an episode; the policy is deterministic, so the episode's seed is not used."""
        del episode
        return PushTController()
